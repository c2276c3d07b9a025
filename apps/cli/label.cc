// quorate label: the desk in a terminal. The learner asks, one key answers.
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cmath>
#include <future>
#include <iostream>

#include "common.h"
#include "desk_options.h"
#include "quorate/base/number.h"
#include "quorate/store/files.h"
#include "quorate/stream/formats.h"
#include "server/service.h"

namespace quorate::cli {
namespace {

struct LabelOptions {
  DeskFolder folder;
  std::string data, annotator, model;
};

/// Keys as they are pressed, without waiting for the end of a line; lines where standard input is no terminal.
class Keys {
 public:
  Keys() : terminal_(isatty(STDIN_FILENO) != 0) {
    if (!terminal_ || tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  ~Keys() {
    if (terminal_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  /// The next key; nothing at the end of the input, or after Ctrl-C.
  std::optional<char> next(const std::stop_token& stop) const {
    for (char key = 0; !stop.stop_requested();) {
      pollfd input{STDIN_FILENO, POLLIN, 0};
      if (poll(&input, 1, 200) <= 0) continue;
      if (read(STDIN_FILENO, &key, 1) != 1) return std::nullopt;
      if (key == '\x1b') {  // an arrow, say: the bytes that follow at once are no answers
        for (; poll(&input, 1, 20) > 0 && read(STDIN_FILENO, &key, 1) == 1;) {
        }
        continue;
      }
      if (key == '\x04') return std::nullopt;  // Ctrl-D
      if (key != '\n' && key != '\r' && key != ' ') return key;
    }
    return std::nullopt;
  }

 private:
  bool terminal_;
  termios before_{};
};

class Desk {
 public:
  explicit Desk(server::Service& service) : service_(service) {}

  /// The reply to an event, once it is on disk. Throws DataError if the event is refused.
  Json operator()(event::Any what) {
    return checked(wait([&](auto done) { service_.submit(std::move(what), done); })).body;
  }
  Json post(std::string lines) {
    return Json::parse(checked(wait([&](auto done) { service_.submit_examples(std::move(lines), done); })).text());
  }
  Json status() const { return service_.status().body; }
  Json explain(std::uint64_t ticket) const { return service_.explain(ticket).body; }

 private:
  template <class Submit>
  static DeskReply wait(Submit submit) {
    std::promise<DeskReply> promise;
    auto reply = promise.get_future();
    submit([&](DeskReply done) { promise.set_value(std::move(done)); });
    return reply.get();
  }
  static DeskReply checked(DeskReply reply) {
    if (!reply.done()) throw DataError(reply.detail());
    return reply;
  }

  server::Service& service_;
};

/// The column of a table and the word that a feature called column=word comes from.
std::pair<std::string, std::string> column_and_word(std::string_view feature, const Schema& schema) {
  std::size_t at = feature.rfind('=');
  for (std::size_t next = feature.find('='); next != feature.npos; next = feature.find('=', next + 1))
    if (schema.place(feature.substr(0, next))) at = next;
  if (at == feature.npos) return {std::string(feature), ""};
  return {std::string(feature.substr(0, at)), std::string(feature.substr(at + 1))};
}

/// A record as a JSON line that the desk, which has the same names of columns, reads as this record: of a table a key for
/// each column, else features in x. The label is left out: the annotator gives it.
std::string line_of(const Record& record, const std::string& id, const ReadOptions& names, const Schema& schema) {
  const auto called = [](const std::string& name, const char* usual) { return name.empty() ? usual : name; };
  Json out{{called(names.id, "id"), id}};
  if (!record.task.empty()) out[called(names.task, "task")] = record.task;
  if (!names.time.empty() && !record.time.empty()) out[names.time] = record.time;
  if (!names.weight.empty() && record.weight != 1) out[names.weight] = record.weight;
  const auto add = [](Json& value, std::string_view word) {  // several texts or words are a list
    if (value.is_null())
      value = word;
    else if (value.is_array())
      value.push_back(word);
    else
      value = Json::array({value, word});
  };
  for (const RawText& text : record.texts) add(out[std::string(text.name)], text.text);
  if (!schema.has_columns()) {
    if (record.entries.empty() && !record.texts.empty()) return out.dump() + "\n";
    Json& x = out["x"] = Json::object();
    for (const Entry& e : record.entries) x[entry_name(e)] = e.value;
    return out.dump() + "\n";
  }
  for (const Entry& e : record.entries) {
    if (e.kind == Entry::Kind::kColumn) {
      out[std::string(e.name)] = e.value;
      continue;
    }
    auto [column, word] = column_and_word(e.name, schema);
    const bool of_time = names.time_parts && (column == names.time + ".hour" || column == names.time + ".weekday");
    if (of_time || is_missing(word)) continue;  // which the desk finds itself
    add(out[column], word);
  }
  return out.dump() + "\n";
}

/// Posts the pool; those that the folder knows already are passed over.
void post_pool(const LabelOptions& o, const ReadOptions& names, Desk& desk, const std::stop_token& stop) {
  const auto reader = open_reader(o.data, names);
  std::string lines;
  std::uint64_t row = 0, posted = 0, bad = 0;
  std::string first_bad;
  const auto flush = [&] {
    if (lines.empty()) return;
    const Json reply = desk.post(std::exchange(lines, {}));
    for (const Json& one : reply["examples"])
      if (!one.contains("error"))
        ++posted;
      else if (bad++ == 0)
        first_bad = one["error"];
  };
  for (Record record; !stop.stop_requested() && reader->next(record);) {
    ++row;
    lines +=
        line_of(record, record.id.empty() ? "row " + std::to_string(row) : std::string(record.id), names, reader->schema());
    if (lines.size() > (std::size_t{1} << 20)) flush();
  }
  flush();
  std::cerr << "quorate: " << counted(posted, "example") << " of " << reader->path() << "\n";
  if (bad > 0) std::cerr << "quorate: " << counted(bad, "example") << " left out; the first: " << first_bad << "\n";
}

/// Data as they may be shown: no control character reaches the terminal.
std::string plain(const Json& text) {
  std::string out;
  for (const char c : text.get<std::string>()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool second = !out.empty() && out.back() == '\xc2' && byte < 0xa0;  // U+0080 to U+009F
    if (second) out.pop_back();
    out += second || (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f ? '?' : c;
  }
  return out;
}

/// Columns of the terminal on standard output; nothing if it is none.
std::optional<std::size_t> columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 20) return std::nullopt;
  return size.ws_col;
}

/// Lines broken at spaces, so that none is longer than `width` characters unless one word is.
std::string wrapped(const std::string& text, std::optional<std::size_t> width) {
  if (!width) return text;
  std::string out;
  std::size_t column = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \n", at), text.size());
    const auto word = std::string_view(text).substr(at, end - at);
    const auto length = static_cast<std::size_t>(
        std::count_if(word.begin(), word.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
    if (column > 0 && column + length > *width) {
      if (out.back() == ' ') out.pop_back();
      out += '\n';
      column = 0;
    }
    out += word;
    column += length + 1;
    if (end < text.size()) out += text[end];
    if (end < text.size() && text[end] == '\n') column = 0;
    at = end + 1;
  }
  return out;
}

/// "accuracy 91 % (80 % to 97 %, by 24 audits)"; empty without audits.
std::string accuracy_of(const Json& status) {
  const Json& a = status["accuracy"];
  if (a.is_null()) return "";
  return "accuracy " + percent(a["value"]) + " (" + percent(a["low"]) + " to " + percent(a["high"]) + ", by " +
         counted(a["audits"], "audit") + ")";
}

/// The example, and below it what must stay on the screen however long it is.
void show(const Json& question, const Json& labels, const std::string& accuracy) {
  std::cout << "\n";
  for (const Json& field : question["fields"]) {
    const std::string name = question["fields"].size() > 1 ? plain(field["name"]) + ": " : "";
    std::cout << wrapped(name + plain(field["value"]), columns()) << "\n";
  }
  std::cout << (labels["limit"].is_null() ? counted(labels["bought"], "label")
                                          : labels["bought"].dump() + " of " + counted(labels["limit"], "label"))
            << (accuracy.empty() ? "" : "  ") << accuracy << "  " << plain(question["task"]) << "  "
            << plain(question["example"]) << "\n";
  std::cout << question["prompt"].get<std::string>() << " ";
  for (std::size_t i = 0; i < question["choices"].size(); ++i)
    std::cout << " [" << i + 1 << "] " << question["choices"][i].get<std::string>();
  std::cout << "  [s] skip  [u] undo  [w] why  [q] quit" << std::endl;
}

int run(LabelOptions& o) {
  std::optional<FileLock> lock;  // no training writes the model meanwhile, and it can be written
  if (!o.model.empty()) {
    std::vector<NamedFile> inputs = files_in("--dir", o.folder.dir);
    if (!o.data.empty()) inputs.push_back(data_file("--data", o.data));
    check_output({"--model", o.model}, inputs);
    lock.emplace(o.model);
  }
  server::ServiceOptions how;
  o.folder.set(how);
  how.log = [](std::string_view line) { std::cerr << "quorate: " << line << "\n"; };
  const std::stop_token stop = interrupt();
  server::Service service(how);
  Desk desk(service);
  if (!o.data.empty()) post_pool(o, service.settings().reading, desk, stop);
  const Keys keys;
  Json question, labels;
  std::string accuracy;
  std::uint64_t answered = 0;
  auto took = [start = std::chrono::steady_clock::now()]() mutable {
    const auto before = std::exchange(start, std::chrono::steady_clock::now());
    return std::chrono::duration<double>(start - before).count();
  };
  for (bool again = true; !stop.stop_requested();) {
    if (again) {
      Json next = desk(event::Next{o.annotator});
      question = next["question"];
      labels = next["labels"];
      if (question.is_null()) {
        std::cout << "\n" << next["reason"].get<std::string>() << "\n";
        break;
      }
      accuracy = accuracy_of(desk.status());
      show(question, labels, accuracy);
      took();
      again = false;
    }
    const auto key = keys.next(stop);
    if (!key || *key == 'q') break;
    try {
      if (*key >= '1' && static_cast<std::size_t>(*key - '1') < question["choices"].size()) {
        const std::string label = question["choices"][static_cast<std::size_t>(*key - '1')];
        desk(event::Answer{question["lease"], label, took()});
        std::cout << "saved: " << label << "\n";
        ++answered;
        again = true;
      } else if (*key == 's') {
        desk(event::Skip{question["lease"]});
        again = true;
      } else if (*key == 'u') {
        const Json undone = desk(event::Undo{o.annotator});
        std::cout << "taken back: " << undone["undone"]["label"].get<std::string>() << "\n";
        question = undone["question"];
        show(question, undone["labels"], accuracy);
        answered -= answered > 0;
      } else if (*key == 'w') {
        const Json why = desk.explain(question["ticket"]);
        std::cout << why.value("why", why.value("detail", "")) << "\n";
        for (const Json& f : why.value("features", Json::array()))
          std::cout << "  " << plain(f["name"]) << " " << shortest(std::round(1000 * f["shared"].get<double>()) / 1000)
                    << " shared, " << shortest(std::round(1000 * f["own"].get<double>()) / 1000) << " own\n";
        show(question, labels, accuracy);
      } else {
        std::cout << "'" << *key << "' is no choice\n";
      }
    } catch (const DataError& e) {  // an expired lease, nothing to undo
      std::cout << e.what() << "\n";
      again = *key != 'u';
    }
    std::cout.flush();
  }
  service.stop();
  const Json status = desk.status();
  std::cout << counted(answered, "answer") << "; " << counted(status["labels"]["bought"], "label") << " in " << o.folder.dir;
  if (accuracy = accuracy_of(status); !accuracy.empty()) std::cout << "; " << accuracy;
  if (!o.model.empty()) {
    OutputFile out(o.model);
    out.write(service.model_bytes());
    out.commit();
    std::cout << "; the model is in " << o.model;
  }
  std::cout << "; the same command continues\n";
  return stop.stop_requested() ? kInterrupted : kDone;
}

}  // namespace

Command add_label(CLI::App& app) {
  const auto o = std::make_shared<LabelOptions>();
  app.add_option("--data", o->data, "examples to ask about, any format; without it those posted before")->type_name("FILE");
  const char* user = std::getenv("USER");
  o->annotator = user != nullptr && *user != 0 ? user : "annotator";
  app.add_option("--model", o->model, "file to write the model to at the end, for quorate predict")->type_name("FILE");
  app.add_option("--annotator", o->annotator, "your name")->capture_default_str()->type_name("NAME");
  o->folder.add(app);
  app.footer(
      "Answers are on disk before the next question is shown. The folder is that of quorate serve: start in the terminal, "
      "go "
      "on in the browser.\nExample:\n  quorate label --dir spam --data pool.csv --positive spam --negative ham --labels "
      "200");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
