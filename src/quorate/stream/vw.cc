// VW text: `[label [importance [base]]] ['tag][|namespace[:weight] feature[:value] ...]...`. The namespace called "task" (or
// --task-column) holds one feature, the task's name, that of --time-column the time. The tag is the id. A feature f of
// namespace n is called n^f, with a word for its value (`city:Berlin`) n^city=Berlin; the k-th of a namespace without a name
// (`:0.5`), from 0, n^:k.
// The importance is the example's weight; with importance 0 it has no label, as in VW. Bases are read and counted, but not
// used.
#include "quorate/stream/formats.h"

#include <algorithm>

#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/stream/tokens.h"

namespace quorate {
namespace {

constexpr bool is_space(char c) { return c == ' ' || c == '\t'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// The next word of `rest`, which loses it and the spaces on both sides; "" if there is none.
std::string_view take(std::string_view& rest) {
  const auto begin = std::find_if_not(rest.begin(), rest.end(), is_space), end = std::find_if(begin, rest.end(), is_space);
  rest = {std::find_if_not(end, rest.end(), is_space), rest.end()};
  return {begin, end};
}

/// Whether a line with this label is one of several that make up an example of a contextual bandit.
bool bandit(std::string_view label) { return label == "shared" || label == "ccb" || label == "slates"; }

class VwReader final : public RecordReader {
 public:
  VwReader(const std::string& path, const ReadOptions& o)
      : RecordReader(path, o), task_(role(o, ColumnKind::kTask, "task")), time_(role(o, ColumnKind::kTime, "")) {
    keep_roles(o, "|");
    name_features();
    unused_ = 0;
  }

  std::string left_out() const override {
    if (unused_ == 0) return "";
    return path() + ": " + std::to_string(unused_) + (unused_ == 1 ? " example has" : " examples have") +
           " a base, which no learner uses";
  }
  std::string_view part_called() const override { return "namespace"; }

 private:
  using Features = Tokens<Colon::kLast, '|'>;

  bool parse(std::string_view line, Record& record) override {
    if (std::all_of(line.begin(), line.end(), is_space)) return false;
    if (const std::size_t at = line.find('\r'); at != line.npos) bad(at, std::string(kCarriageReturn));
    const std::size_t bar = line.find('|');
    if (bar == line.npos) bad(line, line, "VW text: label |namespace feature:value ...");
    std::string_view head = line.substr(0, bar);
    const bool touching = !head.empty() && !is_space(head.back());  // the last word before `|` is the tag
    int words = 0;
    double base = 0;
    for (std::string_view token = take(head); !token.empty(); token = take(head)) {
      const bool last = head.empty();
      if (token.front() == '\'' || (last && touching)) {
        if (words == 0 && parse_number<double>(token))
          bad(line, token, "a space after a label: what touches the bar is a tag to VW");
        if (!last) bad(line, token, "the tag right before '|'");
        record.id = token.substr(token.front() == '\'' ? 1 : 0);
      } else if (words == 0) {
        check_label(line, token);
        record.label = token;
        ++words;
      } else if (words == 1) {
        if (record.label == "ca" && token.find(':') != token.npos)
          bad(line, token, "one label: this is action:cost:density, of a contextual bandit with continuous actions");
        set_weight(record, static_cast<std::size_t>(token.data() - line.data()), token);
        ++words;
      } else if (words == 2) {
        base = number(line, token);
        ++words;
      } else {
        bad(line, token, "at most a label, an importance, a base and a 'tag before '|'");
      }
    }
    unused_ += base != 0;
    Features tokens(line.substr(bar + 1));
    do space(line, tokens, record);
    while (tokens.next_part());
    return true;
  }

  /// Throws LineError for a label that is not one number or word.
  void check_label(std::string_view line, std::string_view token) const {
    if (bandit(token))
      bad(line, token, "a label: this is a line of a contextual bandit with several lines for each example");
    const auto colons = std::count(token.begin(), token.end(), ':');
    if (colons == 2) bad(line, token, "a label: this is action:cost:probability, of a contextual bandit");
    if (colons > 0) bad(line, token, "one label: this is class:cost, of cost-sensitive classes; expected the class alone");
    if (token.find(',') != token.npos)
      bad(line, token, "one label: these are several; expected a file for each of them, with labels 1 and -1");
  }

  void space(std::string_view line, Features& tokens, Record& record) {
    std::string_view name;
    double weight = 1;
    if (tokens.touching() && tokens.next()) {
      name = tokens.token();
      if (const std::size_t colon = name.find(':'); colon != name.npos) {
        weight = number(line, name.substr(colon + 1));
        name = name.substr(0, colon);
      }
    }
    nameless_ = 0;
    const bool ignored = meets(name);
    const auto take = [&] { return tokens.next() ? tokens.token() : line.substr(line.size()); };
    if (!time_.empty() && name == time_) {
      const std::string_view time = take(), more = take();
      if (!more.empty() || !record.time.empty())
        bad(line, more.empty() ? name : more, "one feature, the time, in the namespace " + time_);
      set_time(record, static_cast<std::size_t>(time.data() - line.data()), time);
      return;
    }
    if (name == task_) {
      record.task = take();
      if (const std::string_view more = take(); record.task.empty() || !more.empty())
        bad(line, record.task.empty() ? name : more, "one feature, the task's name, in the namespace " + task_);
      return;
    }
    note_other(name);
    Features here = tokens;
    if (ignored) {
      while (here.next()) continue;
      tokens = here;
      return;
    }
    prefix_.assign(name).append("^").append(KeptText::kAtOnce, '\0');
    const std::string_view prefix = std::string_view(prefix_).substr(0, name.size() + 1);
    const char* const prefix_end = prefix_.data() + prefix_.size();
    while (here.next()) {
      const std::string_view token = here.token();
      std::string_view feature = token;
      const char* end = line.data() + line.size();
      double value = weight;
      if (const std::size_t colon = here.colon(); colon != token.npos) {
        feature = token.substr(0, colon);
        if (colon == 0) {
          feature = record.keep(":" + std::to_string(nameless_++));
          end = feature.data() + feature.size();
        }
        const std::string_view text = token.substr(colon + 1);
        if (!text.empty() && is_letter(text[0]) && !parse_number<double>(text)) {  // a word, as VW reads it
          feature = record.keep(feature, "=", text);
          end = feature.data() + feature.size();
        } else {
          value *= number(line, text);
        }
        if (!is_value(value)) bad(line, token, "a value times its namespace's weight from -1e18 to 1e18");
      }
      Index index = 0;
      if (!name.empty())
        record.add_name(record.keep(prefix, prefix_end, feature, end), value);
      else if (plain_number(feature, &index))
        record.add_index(index, value);
      else
        record.add_name(feature, value);
    }
    tokens = here;
  }

  std::string task_, time_;
  std::string prefix_;  // scratch
  std::uint64_t unused_ = 0, nameless_ = 0;
};

class VwWriter final : public RecordWriter {
  std::string line(const Record& r) override {
    if (!r.texts.empty()) throw DataError("VW text cannot hold raw text exactly; expected features, or another format");
    if (r.weight != 1 && r.label.empty()) throw DataError("VW text cannot hold a weight without a label");
    check("label", r.label, " \t|':,\r\n");
    if (bandit(r.label)) throw DataError("VW text cannot hold the label '" + std::string(r.label) + "': it marks a bandit");
    check("id", r.id, " \t|\r\n");
    check("task", r.task, " \t|:\r\n");
    check("time", r.time, " \t|\r\n");
    std::string out(r.label);
    if (r.weight != 1) out += " " + shortest(r.weight);
    if (!r.id.empty()) out += (out.empty() ? "'" : " '") + std::string(r.id);
    if (!r.task.empty()) out += (out.empty() ? "|task " : " |task ") + std::string(r.task);
    if (!r.time.empty()) out += (out.empty() ? "|time " : " |time ") + std::string(r.time);
    std::string open = "no namespace is open yet";
    for (const Entry& e : r.entries) {
      std::string name = entry_name(e), space;
      if (const std::size_t caret = name.find('^'); caret != name.npos && caret > 0) {
        space = name.substr(0, caret);
        name = name.substr(caret + 1);
      }
      check("feature name", name, " \t|\r\n");
      check("namespace", space, " \t|:\r\n");
      if (space == "task") throw DataError("VW text cannot hold features of the namespace 'task': it names the task");
      if (space == "time" && !r.time.empty())
        throw DataError("VW text cannot hold features of the namespace 'time' beside a time: it names the time");
      if (name.empty()) throw DataError("VW text cannot hold a feature without a name");
      if (space != open) out += (out.empty() ? "|" : " |") + (open = space);
      out += " " + name;
      if (e.value != 1 || name.find(':') != name.npos) out += ":" + shortest(e.value);
    }
    if (r.entries.empty()) out += out.empty() ? "|" : " |";
    return out + "\n";
  }

  static void check(const char* what, std::string_view value, std::string_view forbidden) {
    if (value.find_first_of(forbidden) != value.npos)
      throw DataError("VW text cannot hold the " + std::string(what) + " '" + std::string(value) +
                      "': it has a space or a special character");
  }
};

}  // namespace

constinit const FileFormat FileFormat::kVw{
    .name = "vw",
    .endings = ".vw",
    .open = [](const std::string& path, const ReadOptions& options) -> std::unique_ptr<RecordReader> {
      return std::make_unique<VwReader>(path, options);
    },
    .write = [](CsvColumns) -> std::unique_ptr<RecordWriter> { return std::make_unique<VwWriter>(); }};

}  // namespace quorate
