#include "plot.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>

#include "quorate/base/error.h"
#include "quorate/store/files.h"
#include "quorate/stream/record.h"

namespace quorate::cli {
namespace {

std::string text(const std::string& s) {  // single quotes: no escapes, no enhanced text
  std::string out = "'";
  for (const char c : s) out += c == '\'' ? std::string("''") : std::string(1, c);
  return out + "'";
}

/// Runs gnuplot on the script; `terminal` lines come first. The picture is made beside its place and moved there.
void run_gnuplot(const std::string& path, double width, double height, const std::string& script) {
  std::string terminal;
  char size[64];
  if (path.ends_with(".svg")) {
    std::snprintf(size, sizeof size, "%.0f,%.0f", width, height);
    terminal = "svg noenhanced size " + std::string(size) + " font 'sans,12' background rgb 'white'";
  } else if (path.ends_with(".png")) {
    std::snprintf(size, sizeof size, "%.0f,%.0f", 1.5 * width, 1.5 * height);
    terminal = "pngcairo noenhanced size " + std::string(size) + " font 'sans,16'";
  } else if (path.ends_with(".pdf")) {
    std::snprintf(size, sizeof size, "%.1fcm,%.1fcm", width / 38, height / 38);
    terminal = "pdfcairo noenhanced size " + std::string(size) + " font 'sans,9'";
  } else {
    throw UsageError(path + ": expected a name that ends in .svg, .png or .pdf");
  }
  const std::string made = path + ".making" + std::to_string(getpid());
  std::FILE* gnuplot = popen("gnuplot 2>&1 >/dev/null | head -c 400 1>&2", "w");
  if (gnuplot == nullptr) throw FileError("gnuplot cannot be started");
  const std::string all = "set terminal " + terminal + "\nset output " + text(made) + "\n" + script + "\nset output\n";
  std::fwrite(all.data(), 1, all.size(), gnuplot);
  const int status = pclose(gnuplot);
  std::error_code ignored;
  const bool good =
      WIFEXITED(status) && std::filesystem::exists(made, ignored) && std::filesystem::file_size(made, ignored) > 0;
  if (good) std::filesystem::rename(made, path, ignored);
  if (!good || ignored) {
    std::filesystem::remove(made, ignored);
    throw FileError(path +
                    ": cannot be drawn; expected gnuplot to be installed (Debian: gnuplot-nox) and the folder writable");
  }
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

void plot(const std::string& path, const std::vector<Panel>& panels) {
  // Keys stand below each panel, a line for each series, so they never cover a curve.
  std::size_t keys = 0;
  for (const Panel& p : panels) keys = std::max(keys, p.series.size());
  const double width = 460, height = 360 + 20.0 * static_cast<double>(keys);
  std::string s = "set multiplot layout 1," + std::to_string(panels.size()) +
                  "\nset grid linecolor rgb '#dddddd'\nset border 3\n" +
                  "set tics nomirror\nset key below left maxcols 1 samplen 4 spacing 1.1\nset offsets graph 0.03, graph "
                  "0.03, graph 0.05, graph 0.05\n";
  int number = 0;
  for (const Panel& p : panels) {
    s += "set title " + text(p.title) + "\nset xlabel " + text(p.x_label) + "\nset ylabel " + text(p.y_label) + "\n";
    if (p.categories.empty()) {
      s += "set xtics auto norotate\n";
    } else {
      s += "set xtics rotate by 60 right (";
      const std::size_t step = 1 + p.categories.size() / 20;
      for (std::size_t i = 0; i < p.categories.size(); i += step)
        s += (i ? ", " : "") + text(p.categories[i]) + " " + std::to_string(i);
      s += ")\n";
    }
    std::string line;
    for (std::size_t i = 0; i < p.series.size(); ++i) {
      const Series& series = p.series[i];
      const std::string name = "$d" + std::to_string(number++), look = std::to_string(i % 8 + 1);
      s += name + " << END_OF_DATA\n" + data(series) + "END_OF_DATA\n";
      const bool bars = !series.spread.empty();
      // Dash and point type tell curves apart; grey levels only help.
      const std::string style = " dashtype " + look + " pointtype " +
                                std::to_string(std::vector<int>{7, 6, 5, 4, 9, 8, 13, 12}[i % 8]) +
                                " pointsize 0.7 linewidth 1.5 linecolor rgb '" + (i % 2 == 0 ? "#000000" : "#666666") + "'";
      const std::string point = " pointtype " + std::to_string(std::vector<int>{2, 1, 3, 10, 11, 14, 15, 16}[i % 8]) +
                                " pointsize 1.6 linewidth 1.5 linecolor rgb '#000000'";
      if (data(series).empty()) continue;
      line += line.empty() ? "plot " : ", ";
      line += name + " using 1:2" + (bars ? ":3" : "") + " with ";
      if (series.marks_only)
        line += (bars ? "yerrorbars" : "points") + point;
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

}  // namespace quorate::cli
