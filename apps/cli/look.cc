// quorate look: what the columns of a file hold, what looks wrong, and the command to type next.
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <map>

#include "common.h"
#include "options.h"
#include "quorate/base/csv.h"
#include "quorate/stream/example_reader.h"
#include "quorate/stream/formats.h"
#include "quorate/stream/schema.h"

namespace quorate::cli {
namespace {

constexpr std::size_t kRows = 10'000, kShown = 40;
constexpr std::uint64_t kLostOf = 1000;  // values that ColumnReport::lost counts

struct LookOptions {
  std::string data;
  DataOptions read;
  bool json = false;
};

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

template <std::size_t N>
bool is_one_of(const std::string& name, const std::array<std::string_view, N>& names) {
  return std::find(names.begin(), names.end(), lower(name)) != names.end();
}

/// What is known of a namespace or of a whole file without columns.
struct Group {
  std::uint64_t rows = 0, values = 0, real = 0, negative = 0;
  std::string example;
};

/// What was read of the file.
struct Seen {
  std::uint64_t rows = 0, skipped = 0, missing_labels = 0;
  std::map<std::string, std::uint64_t> labels, tasks;
  std::map<std::string, Group> groups;
};

std::string group_of(const Entry& e) {
  const std::string name = entry_name(e);
  const std::size_t caret = name.find('^');
  return caret == name.npos || caret == 0 ? "" : name.substr(0, caret);
}

Seen read(RecordReader& reader) {
  Seen out;
  Record record;
  while (out.rows < kRows && reader.next(record)) {
    ++out.rows;
    if (is_missing(record.label))
      ++out.missing_labels;
    else if (out.labels.size() <= 1000)
      ++out.labels[std::string(record.label)];
    if (!record.task.empty() && out.tasks.size() <= 100'000) ++out.tasks[std::string(record.task)];
    if (reader.schema().has_columns()) continue;
    std::map<std::string, bool> here;
    for (const Entry& e : record.entries) {
      const std::string name = group_of(e);
      Group& group = out.groups[name];
      if (!here[name]) ++group.rows;
      here[name] = true;
      ++group.values;
      group.real += e.value != std::nearbyint(e.value);
      group.negative += e.value < 0;
      if (group.example.empty()) group.example = entry_name(e);
    }
    for (const RawText& text : record.texts) {
      Group& group = out.groups[std::string(text.name) + " (text)"];
      ++group.rows;
      if (group.example.empty()) group.example = text.text.substr(0, 40);
    }
  }
  out.skipped = reader.skipped();
  return out;
}

bool may_be_label(const ColumnReport& c) { return c.distinct >= 2 && c.distinct <= 20 && c.kind != ColumnKind::kText; }

/// Of Prodigy's answers, which are the labels whatever is called so.
bool is_answer(const ColumnReport& c) {
  constexpr std::array<std::string_view, 3> kAnswers{"accept", "reject", "ignore"};
  return c.name == "answer" && !c.examples.empty() &&
         std::ranges::all_of(c.examples, [&](const std::string& e) { return is_one_of(e, kAnswers); });
}

/// The columns that would be the label and the task, if none is called so; and what is no feature.
struct Guess {
  std::string label, task;
  std::vector<std::string> ignore, unlabelled;
};
Guess guess(std::span<const ColumnReport> columns) {
  constexpr std::array<std::string_view, 14> kLabels{"label", "_label",  "spam",    "target",  "class",
                                                     "y",     "outcome", "is_spam", "labels",  "fraud",
                                                     "churn", "clicked", "answer",  "category"};
  constexpr std::array<std::string_view, 15> kTasks{"task",        "user",    "user_id",    "userid",     "customer",
                                                    "customer_id", "account", "account_id", "tenant",     "device",
                                                    "device_id",   "client",  "person",     "subject_id", "group"};
  Guess out;
  const auto has = [&](ColumnKind kind) {
    return std::any_of(columns.begin(), columns.end(), [&](const ColumnReport& c) { return c.kind == kind; });
  };
  const bool labelled = has(ColumnKind::kLabel), with_tasks = has(ColumnKind::kTask);
  if (const auto answer = std::ranges::find_if(columns, is_answer); answer != columns.end()) {
    out.label = answer->name;
    out.unlabelled = {"ignore"};
    for (const ColumnReport& c : columns)
      if (c.name.starts_with('_')) out.ignore.push_back(c.name);  // of the tool
  }
  std::size_t best = kLabels.size();  // the earlier of the names, wherever its column is
  for (const ColumnReport& c : columns) {
    const auto rank = static_cast<std::size_t>(std::find(kLabels.begin(), kLabels.end(), lower(c.name)) - kLabels.begin());
    if (rank < best && !labelled && out.unlabelled.empty() && may_be_label(c)) {
      best = rank;
      out.label = c.name;
    }
    if (out.task.empty() && !with_tasks && is_one_of(c.name, kTasks) && c.distinct >= 2 && 3 * c.distinct <= c.rows)
      out.task = c.name;
  }
  return out;
}

/// That no row has a label, and which columns could.
std::string without_label(std::span<const ColumnReport> columns) {
  constexpr std::size_t kMost = 5;
  std::string could;
  std::size_t n = 0;
  for (const ColumnReport& c : columns)
    if (may_be_label(c) && (is_feature(c.kind) || c.kind == ColumnKind::kId) && ++n <= kMost)
      could += (could.empty() ? "" : ", ") + quoted_value(c.name);
  return "no row has a label: --label-column names the column" +
         (could.empty() ? "" : " (" + could + (n > kMost ? ", ..." : "") + (n == 1 ? " could be it)" : " could be one)")) +
         ", or let people answer";
}

/// What looks wrong with a column.
std::vector<std::string> warnings_of(const ColumnReport& c, std::string_view label) {
  std::vector<std::string> out;
  const std::uint64_t present = c.rows - c.missing;
  const bool feature = is_feature(c.kind) && c.name != label;
  if (feature && present > 0 && c.distinct == 1 && c.missing == 0) out.push_back("has one value only");
  if (feature && present == 0) out.push_back("is empty in the rows looked at; its first values decide what it is");
  if (c.kind == ColumnKind::kTask && present >= 20 && c.distinct == present)
    out.push_back("is different in every row, so each task has one example; expected users or customers");
  if (c.kind == ColumnKind::kText && c.lost > 0)
    out.push_back("has " + counted(c.lost, "letter") + " or digits that stand alone" +
                  (present > kLostOf ? " in its first texts" : "") + ", which are no words");
  if (feature && is_number(c.kind) && c.distinct == present && present >= 20 && c.why.starts_with("whole"))
    out.push_back("has a different whole number in every row: is it an id? --ignore-column " + c.name);
  if (c.kind == ColumnKind::kId && c.why.starts_with("a word"))
    out.push_back("never repeats, so it is taken for an id; --categorical-column or --text-column if it is none");
  if (feature && c.decides_label) out.push_back("contains the answer: each of its values has one label only");
  if (feature && c.why.ends_with("are numbers"))
    out.push_back("has values that are no numbers, which are bad lines; --categorical-column if they are words");
  if (feature && c.why.find("are numbers,") != std::string::npos)
    out.push_back("has words among its numbers, so all are words");
  if (c.kind == ColumnKind::kDate) out.push_back("is not a feature; --time-parts makes its hour and weekday features");
  return out;
}

/// That no column names the task, and which could; "" if one does, or none could.
std::string without_task(std::span<const ColumnReport> columns, std::string_view label) {
  constexpr std::size_t kMost = 3;
  std::vector<std::string> could;
  for (const ColumnReport& c : columns) {
    if (c.kind == ColumnKind::kTask) return "";
    if (c.kind == ColumnKind::kCategory && c.name != label && c.distinct >= 2 && 3 * c.distinct <= c.rows &&
        !c.decides_label)
      could.push_back(quoted_value(c.name));
  }
  if (could.empty() || could.size() > kMost) return "";
  std::string names;
  for (std::size_t i = 0; i < could.size(); ++i) names += (i == 0 ? "" : i + 1 < could.size() ? ", " : " or ") + could[i];
  return "no column is the task; --task-column if examples of each " + names + " follow rules of their own";
}

std::string shell_quoted(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_-./=,+:@").find(c) != std::string_view::npos;
  });
  if (plain && !text.empty()) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return part == 0 ? "-" : percent(static_cast<double>(part) / static_cast<double>(whole));
}

/// Why these labels cannot be learned, or "".
std::string not_learned(const std::map<std::string, std::uint64_t>& labels) {
  if (labels.size() > ClassNames::kMost)
    return "more than " + grouped(ClassNames::kMost) + " different labels; expected a column of classes, not of numbers";
  if (labels.size() < 3) return "";
  std::vector<std::string> names;
  for (const auto& [name, times] : labels) names.push_back(name);
  try {
    check_one_label_each(names);
  } catch (const DataError& e) {
    return e.what();
  }
  return "";
}

/// That one of two labels is rare, and what may help; or "".
std::string rare(const std::map<std::string, std::uint64_t>& labels) {
  constexpr double kRare = 0.1;
  if (labels.size() != 2) return "";
  const auto &first = *labels.begin(), &second = *labels.rbegin(), &less = first.second < second.second ? first : second;
  const double part = static_cast<double>(less.second) / static_cast<double>(first.second + second.second);
  if (part >= kRare) return "";
  return "label " + quoted_value(less.first) + " is rare (" + percent(part) +
         "); --learner 'cohort(cost=balanced)' if missing it costs more than a false alarm";
}

/// The command that learns from the file, with the words that are needed; of a file without labels the one that asks people.
std::string command(const LookOptions& o, const Seen& seen, const Guess& guessed) {
  const std::string stem = o.data == "-" ? "my" : std::filesystem::path(o.data).stem().stem().string();
  const bool asks = seen.labels.empty();
  std::string out = asks ? "quorate label --dir " + shell_quoted(stem) + " --data " + shell_quoted(o.data)
                         : "quorate train --data " + shell_quoted(o.data) + " --model " + shell_quoted(stem + ".model");
  const auto add = [&](const std::string& flag, const std::string& value) {
    if (!value.empty()) out += " " + flag + " " + shell_quoted(value);
  };
  ReadOptions read = o.read.read;
  if (read.label.empty()) read.label = guessed.label;
  if (read.task.empty()) read.task = guessed.task;
  for_each_field<ReadOptions>({"cache"}, [&](const auto& field) {
    if (asks && (field.name == "format" || field.name == "delimiter")) return;  // which `label` does not have
    const auto& value = read.*(field.member);
    using T = std::remove_cvref_t<decltype(value)>;
    const std::string flag = flag_of(field, T{});
    if constexpr (std::same_as<T, bool>) {
      if (value) out += " " + flag;
    } else if constexpr (std::same_as<T, TextList>) {
      std::string names;
      for (const std::string& name : value) names += (names.empty() ? "" : ",") + csv_quoted(name);
      add(flag, names);
    } else {
      add(flag, value);
    }
  });
  if (!asks && o.read.on_error == "skip") out += " --on-error skip";
  if (asks) {
    out += " --positive yes --negative no";
  } else if (seen.labels.size() > 2) {
    out += " --classes one-vs-rest";
  } else if (seen.labels.size() == 2) {
    const std::string first = seen.labels.begin()->first, second = seen.labels.rbegin()->first;
    try {
      Labels labels;
      labels(first);
      labels(second);
    } catch (const DataError&) {  // the rarer word is most often what is looked for
      add("--positive", first == "accept" ? first : seen.labels.at(first) <= seen.labels.at(second) ? first : second);
    }
  }
  return out;
}

/// As one row each: columns of numbers called name.0, name.1, ...
std::vector<ColumnReport> folded(std::span<const ColumnReport> columns) {
  constexpr std::size_t kFew = 3;
  std::vector<ColumnReport> out;
  for (std::size_t i = 0; i < columns.size();) {
    const std::string& first = columns[i].name;
    const std::string stem = first.ends_with(".0") ? first.substr(0, first.size() - 1) : "";
    std::size_t end = i;
    while (!stem.empty() && end < columns.size() && columns[end].name == stem + std::to_string(end - i) &&
           is_number(columns[end].kind))
      ++end;
    out.push_back(columns[i]);
    if (end - i < kFew) {
      ++i;
      continue;
    }
    ColumnReport& all = out.back();
    for (std::size_t k = i; k < end; ++k) all.missing = std::max(all.missing, columns[k].missing);
    all.name = stem.substr(0, stem.size() - 1);
    all.why = grouped(end - i) + " columns of numbers, " + first + " to " + columns[end - 1].name;
    i = end;
  }
  return out;
}

int run(LookOptions o) {
  ReadOptions options = o.read.options();
  options.skip_bad_lines = true;  // a look at bad lines, too
  auto reader = open_reader(o.data, options);
  const std::vector<ColumnReport> columns(reader->seen().begin(), reader->seen().end());
  const Guess guessed = guess(columns);
  if (o.data != "-" && (!guessed.label.empty() || !guessed.task.empty())) {
    if (!guessed.label.empty()) options.label = guessed.label;
    if (!guessed.task.empty()) options.task = guessed.task;
    for (const auto& [more, read, shown] : {std::tuple{&guessed.ignore, &options.ignore, &o.read.read.ignore},
                                            {&guessed.unlabelled, &options.unlabelled, &o.read.read.unlabelled}}) {
      read->insert(read->end(), more->begin(), more->end());
      shown->insert(shown->end(), more->begin(), more->end());
    }
    reader = open_reader(o.data, options);
  }
  const Seen seen = read(*reader);
  const std::vector<ColumnReport> now(reader->seen().begin(), reader->seen().end());
  const std::string label = o.read.read.label.empty() ? guessed.label.empty() ? "label" : guessed.label : o.read.read.label;
  std::vector<std::pair<std::string, std::string>> wrong;
  for (const ColumnReport& c : now)
    for (std::string& warning : warnings_of(c, label)) wrong.emplace_back(c.name, std::move(warning));
  if (seen.labels.empty())
    wrong.emplace_back("", without_label(now));
  else if (seen.labels.size() == 1)
    wrong.emplace_back("", "every label is " + quoted_value(seen.labels.begin()->first));
  const std::string unlearned = not_learned(seen.labels);
  for (const std::string& what : {unlearned, rare(seen.labels)})
    if (!what.empty()) wrong.emplace_back("", what);
  if (o.json) {
    Json out{{"file", reader->path()}, {"rows", seen.rows}, {"columns", Json::array()}, {"namespaces", Json::array()}};
    for (const ColumnReport& c : now)
      out["columns"].push_back(
          {{"name", c.name},
           {"kind", word_of(c.kind)},
           {"why", c.why},
           {"missing", number(c.rows == 0 ? 0 : static_cast<double>(c.missing) / static_cast<double>(c.rows))},
           {"different", c.distinct},
           {"examples", c.examples}});
    for (const auto& [name, group] : seen.groups)
      out["namespaces"].push_back(
          {{"name", name}, {"rows", group.rows}, {"values", group.values}, {"example", group.example}});
    out["labels"] = seen.labels;
    out["tasks"] = seen.tasks.size();
    out["missing_labels"] = seen.missing_labels;
    out["warnings"] = Json::array();
    for (const auto& [name, what] : wrong) out["warnings"].push_back({{"column", name}, {"what", what}});
    out["command"] = unlearned.empty() ? Json(command(o, seen, guessed)) : Json(nullptr);
    std::cout << out.dump(2) << "\n";
    return kDone;
  }
  std::cout << reader->path() << ": " << counted(seen.rows, "row") << " looked at\n\n";
  if (!now.empty()) {
    std::vector<std::vector<std::string>> rows{{"column", "kind", "missing", "different", "examples", "why"}};
    const std::vector<ColumnReport> shown = folded(now);
    for (std::size_t i = 0; i < std::min(shown.size(), kShown); ++i) {
      const ColumnReport& c = shown[i];
      std::string examples;
      for (const std::string& e : c.examples)
        examples += (examples.empty() ? "" : ", ") + shown_value(e.substr(0, 24)) + (e.size() > 24 ? "..." : "");
      rows.push_back({shown_value(c.name), std::string(word_of(c.kind)), share(c.missing, c.rows), grouped(c.distinct),
                      examples, c.why});
    }
    std::cout << left_table(rows);
    if (shown.size() > kShown) std::cout << "and " << shown.size() - kShown << " more (--json lists all)\n";
  } else {
    std::vector<std::vector<std::string>> rows{{"namespace", "in rows", "values a row", "kind", "example"}};
    for (const auto& [name, group] : seen.groups) {
      char each[32];
      std::snprintf(each, sizeof each, "%.1f",
                    static_cast<double>(group.values) / static_cast<double>(std::max<std::uint64_t>(group.rows, 1)));
      rows.push_back({name.empty() ? "(no name)" : name, share(group.rows, seen.rows), each,
                      group.real + group.negative > 0 ? "numbers" : "counts or words", group.example});
    }
    std::cout << left_table(rows);
  }
  std::cout << "\n";
  if (!seen.labels.empty()) {
    std::cout << "labels:";
    std::size_t shown = 0;
    for (const auto& [name, times] : seen.labels)
      if (shown++ < 12) std::cout << (shown > 1 ? ", " : " ") << one_line(name) << " (" << grouped(times) << ")";
    if (shown > 12) std::cout << ", ... (" << seen.labels.size() << " in all)";
    if (seen.missing_labels > 0) std::cout << "; none in " << grouped(seen.missing_labels);
    std::cout << "\n";
  }
  if (!seen.tasks.empty()) std::cout << "tasks: " << grouped(seen.tasks.size()) << "\n";
  for (const auto& [name, what] : wrong) std::cout << "look: " << one_line(name.empty() ? what : name + " " + what) << "\n";
  if (const std::string hint = without_task(now, label); !hint.empty()) std::cout << "look: " << hint << "\n";
  if (unlearned.empty()) std::cout << "\nnext:\n  " << command(o, seen, guessed) << "\n";
  report_skipped(*reader);
  return kDone;
}

}  // namespace

Command add_look(CLI::App& app) {
  const auto o = std::make_shared<LookOptions>();
  app.add_option("data", o->data, "file to look at; - for standard input")->required()->type_name("FILE");
  app.add_flag("--json", o->json, "print a JSON document");
  o->read.add(app, false);
  app.footer("Example:\n  quorate look emails.csv");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
