#include "plot.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "quorate/base/error.h"
#include "quorate/store/files.h"
#include "quorate/stream/record.h"

namespace quorate {
namespace {

/// A string for gnuplot: in single quotes, where it reads no escapes; control characters, which could end it, as blanks.
std::string text(const std::string& s) {
  std::string out = "'";
  for (const char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    out += c == '\'' ? std::string("''") : std::string(1, byte < 0x20 || byte == 0x7f ? ' ' : c);
  }
  return out + "'";
}

std::string terminal_of(const std::string& path, double width, double height) {
  char size[64];
  if (path.ends_with(".svg")) {
    std::snprintf(size, sizeof size, "%.0f,%.0f", width, height);
    return "svg noenhanced size " + std::string(size) + " font 'sans,12' background rgb 'white'";
  }
  if (path.ends_with(".png")) {
    std::snprintf(size, sizeof size, "%.0f,%.0f", 1.5 * width, 1.5 * height);
    return "pngcairo noenhanced size " + std::string(size) + " font 'sans,16'";
  }
  check_picture(path);
  std::snprintf(size, sizeof size, "%.1fcm,%.1fcm", width / 38, height / 38);
  return "pdfcairo noenhanced size " + std::string(size) + " font 'sans,9'";
}

/// Runs gnuplot on the script. The picture is made in a folder of its own and then written whole.
void run_gnuplot(const std::string& path, double width, double height, const std::string& script) {
  const std::string terminal = terminal_of(path, width, height);
  OutputFile out(path);
  std::string folder = (std::filesystem::temp_directory_path() / "quorate-plot-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw FileError(folder + ": cannot be made");
  const std::string program = folder + "/plot.gp", picture = folder + "/picture", said = folder + "/said";
  {
    OutputFile file(program);
    file.write("set terminal " + terminal + "\nset output " + text(picture) + "\n" + script + "\nset output\n");
    file.commit();
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, said.c_str(), O_WRONLY | O_CREAT, 0600);
  char name[] = "gnuplot";
  std::string script_path = program;
  char* arguments[] = {name, script_path.data(), nullptr};
  pid_t child = 0;
  int status = -1;
  const bool started = posix_spawnp(&child, name, &actions, nullptr, arguments, environ) == 0;
  posix_spawn_file_actions_destroy(&actions);
  const bool good = started && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
                    std::filesystem::exists(picture);
  std::string bytes = good ? read_file(picture) : "",
              why = started && !good && std::filesystem::exists(said) ? read_file(said) : "";
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (!good)
    throw FileError(path + ": cannot be drawn; expected gnuplot to be installed (Debian: gnuplot-nox)" +
                    (why.empty() ? "" : ": " + why.substr(0, 300)));
  out.write(bytes);
  out.commit();
}

std::string data(const Series& s) {
  std::string out;
  for (std::size_t i = 0; i < s.x.size(); ++i)
    if (std::isfinite(s.x[i]) && std::isfinite(s.y[i]))
      out += shortest(s.x[i]) + " " + shortest(s.y[i]) + " " +
             shortest(i < s.spread.size() && std::isfinite(s.spread[i]) ? s.spread[i] : 0) + "\n";
  return out;
}

}  // namespace

void check_picture(const std::string& path) {
  if (!path.ends_with(".svg") && !path.ends_with(".png") && !path.ends_with(".pdf"))
    throw UsageError(path + ": expected a name that ends in .svg, .png or .pdf");
}

void plot(const std::string& path, const std::vector<Panel>& panels) {
  // Keys stand below each panel, a line for each series, so they never cover a curve.
  std::size_t keys = 0;
  for (const Panel& p : panels) keys = std::max(keys, p.series.size());
  const double width = 460, height = 360 + 20.0 * static_cast<double>(keys);
  std::string s =
      "set multiplot layout 1," + std::to_string(panels.size()) + "\nset grid linecolor rgb '#dddddd'\nset border 3\n" +
      "set tics nomirror\nset key bmargin left Left reverse maxcols 1 samplen 4 spacing 1.1\nset offsets graph 0.03, graph "
      "0.03, graph 0.05, graph 0.05\n";
  int number = 0;
  for (const Panel& p : panels) {
    s += "set title " + text(p.title) + "\nset xlabel " + text(p.x_label) + "\nset ylabel " + text(p.y_label) + "\n";
    s += p.log_x ? "set logscale x\nset format x '%g'\n" : "unset logscale\nset format x '% h'\n";
    if (p.categories.empty()) {
      s += "set xtics auto norotate\nset xrange [" + std::string(p.log_x ? "*" : "0") + ":*]\n";
    } else {
      s += "set xrange [*:*]\nset yrange [0:*]\nset xtics rotate by 60 right (";
      const std::size_t step = 1 + p.categories.size() / 20;
      for (std::size_t i = 0; i < p.categories.size(); i += step)
        s += (i ? ", " : "") + text(p.categories[i]) + " " + std::to_string(i);
      s += ")\n";
    }
    std::string line;
    for (std::size_t i = 0; i < p.series.size(); ++i) {
      const Series& series = p.series[i];
      // Published marks come after the curves, in the same order, and look like their curve, only larger.
      std::size_t look = i;
      for (std::size_t other = 0; series.marks_only && other < i; ++other)
        if (!p.series[other].marks_only && series.title.starts_with(p.series[other].title + ",")) look = other;
      const std::string name = "$d" + std::to_string(number++);
      s += name + " << END_OF_DATA\n" + data(series) + "END_OF_DATA\n";
      const bool bars = !series.spread.empty();
      // Dash and point type tell curves apart; grey levels only help.
      constexpr int kPoints[] = {7, 6, 5, 4, 9, 8, 13, 12};
      const std::string point = " pointtype " + std::to_string(kPoints[look % 8]) + " linewidth 1.5 linecolor rgb '" +
                                (look % 2 == 0 ? "#000000" : "#666666") + "'";
      const std::string style = " dashtype " + std::to_string(look % 8 + 1) + " pointsize 0.7" + point;
      if (data(series).empty()) continue;
      line += line.empty() ? "plot " : ", ";
      line += name + " using 1:2" + (bars ? ":3" : "") + " with ";
      if (series.marks_only)
        line += (bars                                          ? "yerrorbars pointsize 1"
                 : series.title.find(',') == std::string::npos ? "points pointsize 1"
                                                               : "points pointsize 1.6") +
                point;
      else
        line += (bars ? "yerrorlines" : "linespoints") + style;
      line += " title " + text(series.title);
    }
    if (!line.empty()) s += line + "\n";
  }
  run_gnuplot(path, width * static_cast<double>(panels.size()), height, s + "unset multiplot\n");
}

void plot(const std::string& path, const HeatMap& map) {
  const std::size_t K = map.names.size();
  std::string s = "$m << END_OF_DATA\n";
  for (std::size_t i = 0; i < K; ++i)
    for (std::size_t j = 0; j < K; ++j)
      s += std::to_string(j) + " " + std::to_string(i) + " " + shortest(map.value[i][j]) + "\n";
  s += "END_OF_DATA\nset title " + text(map.title) + "\nset xlabel " + text(map.x_label) + "\nset ylabel " +
       text(map.y_label) + "\nset palette gray negative\nset size square\nset yrange [" +
       std::to_string(static_cast<double>(K) - 0.5) +
       ":-0.5]\nset xrange [-0.5:" + std::to_string(static_cast<double>(K) - 0.5) + "]\nunset key\nset cbrange [0:*]\n";
  for (const char* axis : {"x", "y"}) {
    s += "set " + std::string(axis) + "tics out nomirror " + (axis[0] == 'x' ? "rotate by 60 right " : "") + "(";
    const std::size_t step = 1 + K / 30;
    for (std::size_t i = 0; i < K; i += step) s += (i ? ", " : "") + text(map.names[i]) + " " + std::to_string(i);
    s += ")\n";
  }
  run_gnuplot(path, 620, 560, s + "plot $m using 1:2:3 with image\n");
}

}  // namespace quorate
