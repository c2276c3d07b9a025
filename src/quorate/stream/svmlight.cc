// SVMlight: `label [task:NAME | qid:NUMBER] [time:TIME] index:value ... [# id]`, indices ascending; `?` is an unknown
// label.
#include "quorate/stream/formats.h"

#include <algorithm>

#include "quorate/base/byte_scan.h"
#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/stream/tokens.h"

namespace quorate {
namespace {

constexpr std::string_view kSpace = " \t";

class SvmlightReader final : public RecordReader {
 public:
  SvmlightReader(const std::string& path, const ReadOptions& options)
      : RecordReader(path, options), ignores_any_(!options.ignore.empty()) {
    name_features(FeatureNames::Are::kIndices);
  }
  std::string_view part_called() const override { return "index"; }

 private:
  bool parse(std::string_view line, Record& record) override {
    std::string_view rest = line;
    if (const std::size_t hash = rest.find('#'); hash != rest.npos) {
      record.id = trimmed(rest.substr(hash + 1));
      rest = rest.substr(0, hash);
    }
    Tokens<Colon::kFirst> tokens(rest);
    if (!tokens.next()) return false;
    const std::string_view label = tokens.token();
    if (tokens.colon() != label.npos) bad(line, label, "a label first (SVMlight: label index:value ...)");
    if (label != "?") record.label = label;
    bool first = true;
    Index last = 0;
    while (tokens.next()) {
      const std::string_view token = tokens.token();
      const std::size_t colon = tokens.colon();
      if (colon == token.npos || colon == 0 || colon + 1 == token.size()) bad(line, token, "index:value");
      const std::string_view name = token.substr(0, colon), value = token.substr(colon + 1);
      if (first && record.task.empty() && (name == "task" || name == "qid")) {
        record.task = value;
        continue;
      }
      if (first && record.time.empty() && name == "time") {
        set_time(record, static_cast<std::size_t>(value.data() - line.data()), value);
        continue;
      }
      Index index = 0;
      if (!short_whole(name, line.data() + line.size(), &index)) {
        const auto parsed = parse_number<Index>(name);
        if (!parsed || *parsed > kMaxIndex) bad(line, name, "an index from 0 to " + std::to_string(kMaxIndex));
        index = *parsed;
      }
      if (!first && index <= last)
        bad(line, name,
            index == last ? "each index once" : "ascending indices (the one before is " + std::to_string(last) + ")");
      const double number_of = number(line, value);
      if (!ignores_any_ || !meets(name)) record.add_index(index, number_of);
      last = index;
      first = false;
    }
    return true;
  }

  static std::string_view trimmed(std::string_view s) {
    const std::size_t begin = std::min(s.find_first_not_of(kSpace), s.size());
    return s.substr(begin, s.find_last_not_of(kSpace) + 1 - begin);
  }

  bool ignores_any_;
};

class SvmlightWriter final : public RecordWriter {
  std::string line(const Record& r) override {
    if (!r.texts.empty()) throw DataError("SVMlight cannot hold text; expected features, or another format");
    if (r.weight != 1)
      throw DataError("SVMlight cannot hold the weight " + shortest(r.weight) + "; expected another format");
    if (r.label.find_first_of(" \t\r\n:#") != r.label.npos) cannot_hold("label", r.label);
    std::string out(r.label.empty() ? "?" : r.label);
    if (!r.task.empty()) {
      if (r.task.find_first_of(" \t\r\n#") != r.task.npos) cannot_hold("task", r.task);
      out += " task:" + std::string(r.task);
    }
    if (!r.time.empty()) {
      if (r.time.find_first_of(" \t\r\n#") != r.time.npos) cannot_hold("time", r.time);
      out += " time:" + std::string(r.time);
    }
    std::vector<std::pair<Index, double>> entries;
    for (const Entry& e : r.entries) {
      if (e.kind == Entry::Kind::kName)
        throw DataError("SVMlight has numbers for features and cannot hold the name '" + std::string(e.name) + "'");
      entries.emplace_back(e.index + (e.kind == Entry::Kind::kColumn ? 1 : 0), e.value);
    }
    std::sort(entries.begin(), entries.end());
    for (std::size_t i = 1; i < entries.size(); ++i)
      if (entries[i].first == entries[i - 1].first)
        throw DataError("SVMlight cannot hold the index " + std::to_string(entries[i].first) + " twice");
    for (const auto& [index, value] : entries) out += " " + std::to_string(index) + ":" + shortest(value);
    if (!r.id.empty()) {
      if (r.id.find_first_of("\r\n#") != r.id.npos || kSpace.find(r.id.front()) != kSpace.npos ||
          kSpace.find(r.id.back()) != kSpace.npos)
        cannot_hold("id", r.id);
      out += " # " + std::string(r.id);
    }
    return out + "\n";
  }

  [[noreturn]] static void cannot_hold(const char* what, std::string_view value) {
    throw DataError("SVMlight cannot hold the " + std::string(what) + " '" + std::string(value) +
                    "': it has a space or a special character");
  }
};

}  // namespace

constinit const FileFormat FileFormat::kSvmlight{
    .name = "svmlight",
    .endings = ".svm .svmlight .libsvm",
    .open = [](const std::string& path, const ReadOptions& options) -> std::unique_ptr<RecordReader> {
      return std::make_unique<SvmlightReader>(path, options);
    },
    .write = [](CsvColumns) -> std::unique_ptr<RecordWriter> { return std::make_unique<SvmlightWriter>(); }};

}  // namespace quorate
