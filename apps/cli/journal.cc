// quorate journal: what quorate serve keeps. Reads the files of a folder, also while it is served.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "common.h"
#include "help.h"
#include "quorate/base/csv.h"
#include "quorate/base/hash.h"
#include "quorate/desk/desk.h"
#include "quorate/journal/journal.h"
#include "quorate/store/files.h"
#include "server/service.h"
#include "server/snapshot_files.h"

namespace quorate::cli {
namespace {

struct JournalCommandOptions {
  std::string dir, out = "-", to = "jsonl";
  std::uint64_t from = 0, until = JournalReader::kAll;
  std::vector<std::uint64_t> without;
};

std::uint64_t first_of(const std::string& dir) {
  const auto segments = journal_segments(dir);
  if (segments.empty()) throw FileError(dir + ": has no journal; expected the folder that quorate serve --dir was given");
  return segments.front().first;
}

void check_interrupt() {
  if (interrupt().stop_requested()) throw Interrupted("interrupted");
}

int verify(const JournalCommandOptions& o) {
  JournalReader reader(o.dir, first_of(o.dir));
  std::uint64_t events = 0, bytes = 0;
  while (const auto record = reader.next()) {
    ++events;
    bytes += record->payload.size();
    if (events % 1000 == 0) check_interrupt();
  }
  std::cout << o.dir << ": " << counted(events, "event") << " in " << counted(journal_segments(o.dir).size(), "file") << ", "
            << counted(bytes, "byte") << ", each as it was written\n";
  if (const auto& torn = reader.torn_tail())
    std::cout << torn->path << ": " << counted(torn->bytes, "byte") << " from offset " << torn->offset
              << " on were never finished (" << torn->reason << "); no answer in them was acknowledged\n";
  return kDone;
}

int show(const JournalCommandOptions& o) {
  JournalReader reader(o.dir, std::max(o.from, first_of(o.dir)), o.until);
  while (const auto record = reader.next()) {
    std::cout << server::event_line(record->sequence, record->payload);
    if (!std::cout) break;
    check_interrupt();
  }
  return kDone;
}

/// The state from which the events of a folder go on: nothing at all, or its oldest snapshot, where they were dropped
/// before.
struct Beginning {
  std::uint64_t sequence = 0;
  std::optional<std::string> state = {};
};
Beginning beginning_of(const JournalCommandOptions& o) {
  const std::uint64_t first = first_of(o.dir);
  if (first == 0) return {};
  auto snapshots = server::snapshots_of(o.dir);
  const std::string journal = hash128_hex(JournalReader(o.dir, first).header().text);
  std::ranges::reverse(snapshots);
  for (const std::uint64_t sequence : snapshots)
    if (sequence >= first && sequence <= o.until) try {
        return {sequence, server::read_state(o.dir, sequence, journal)};
      } catch (const Error& e) {
        std::cerr << "quorate: " << e.what() << "; this snapshot is passed over\n";
      }
  throw DataError(o.dir + ": the events before " + grouped(first) + " were dropped, and no snapshot " +
                  (o.until == JournalReader::kAll ? "is whole" : "before --until " + std::to_string(o.until) + " is whole") +
                  "; expected one, or the dropped files back in " + journal_folder(o.dir));
}

/// An answer and what it was about.
struct Answered {
  std::string label, annotator;
  Json at, seconds;
};
struct Asked {
  std::string example, task, settled;  // settled: by the owner, until the first answer is taken back
  Json probability, audit;
  std::vector<Answered> answers;
};

/// Collects answers from events and their outcomes ("was"); no model is needed.
class Collector {
 public:
  void begin(const std::string& state) {
    const Json all = Json::parse(state);
    for (const char* list : {"open", "closed"})
      for (const Json& q : all.at(list)) {
        lines_[q.at("example")] = q.at("line");
        if (q.at("given").empty()) continue;
        Asked& asked = questions_[q.at("id")];
        asked = {q.at("example"), q.at("task"), q.at("settled"), q.at("probability"), q.at("audit"), {}};
        for (const Json& g : q.at("given")) asked.answers.push_back({g.at(1), g.at(0), g.at(3), nullptr});
      }
    for (const Json& p : all.at("pool")) lines_[p.at(0)] = p.at(2);
  }

  void operator()(std::string_view text) {
    const Json event = Json::parse(text.substr(0, text.find('\n')));
    const std::string what = event.at("do");
    if (what == "forget_task") return forget([&](const Asked& asked) { return event.at("task") == asked.task; });
    if (what == "forget_example") return forget([&](const Asked& asked) { return event.at("example") == asked.example; });
    if (what == "decide") {
      if (const auto found = questions_.find(event.at("ticket")); found != questions_.end())
        found->second.settled = event.at("label");
      return;
    }
    if (!event.contains("was") || (what != "answer" && what != "put" && what != "undo")) return;
    const Json& was = event["was"];
    Asked& asked = questions_[was.at("ticket")];
    const std::string annotator = what == "undo" ? event.at("annotator") : was.at("annotator");
    if (std::erase_if(asked.answers, [&](const Answered& a) { return a.annotator == annotator; }) > 0) asked.settled.clear();
    if (what == "undo" || event.value("label", Json()).is_null()) return;
    asked.example = was.at("example");
    asked.task = was.at("task");
    asked.probability = was.at("probability");
    asked.audit = was.at("audit");
    asked.answers.push_back({event["label"], annotator, event.at("at"), event.value("seconds", Json())});
    examples_.insert(asked.example);
  }

  /// Once all events are known: the lines of the examples, from the same events. Of an example that was forgotten and
  /// posted again the line is that of the last time.
  void note_lines(std::string_view text) {
    const auto end = std::min(text.find('\n'), text.size());
    const Json event = Json::parse(text.substr(0, end));
    if (event.at("do") == "forget_example") lines_.erase(event.at("example").get<std::string>());
    if (event.at("do") == "forget_task")
      for (const auto& [ticket, asked] : questions_)
        if (event.at("task") == asked.task) lines_.erase(asked.example);
    if (end == text.size()) return;
    if ((event.at("do") != "examples" && event.at("do") != "shared") || !event.contains("was")) return;
    std::string_view lines = text.substr(end + 1);
    for (const Json& id : event["was"].at("ids")) {
      std::string_view line;
      do {
        const auto to = std::min(lines.find('\n'), lines.size());
        line = lines.substr(0, to);
        lines.remove_prefix(std::min(to + 1, lines.size()));
      } while (line.find_first_not_of(" \t\r") == line.npos && !lines.empty());
      if (!id.is_string()) continue;
      const std::string& example = id.get_ref<const std::string&>();
      if (examples_.contains(example)) lines_.try_emplace(example, line);
    }
  }

  const std::map<std::uint64_t, Asked>& questions() const { return questions_; }
  /// "" if it is not known.
  std::string line(const Asked& asked) const {
    const auto found = lines_.find(asked.example);
    return found == lines_.end() ? "" : found->second;
  }

 private:
  template <class Of>
  void forget(Of of) {
    std::erase_if(questions_, [&](const auto& q) {
      if (!of(q.second)) return false;
      lines_.erase(q.second.example);
      examples_.erase(q.second.example);
      return true;
    });
  }

  std::map<std::uint64_t, Asked> questions_;
  std::unordered_set<std::string> examples_;            // with answers
  std::unordered_map<std::string, std::string> lines_;  // of the examples with answers, and of a snapshot
};

/// Calls use(payload) for each event from `from` on.
template <class Use>
void each_event(const JournalCommandOptions& o, std::uint64_t from, Use use) {
  JournalReader reader(o.dir, from, o.until);
  while (const auto record = reader.next()) {
    use(record->payload);
    check_interrupt();
  }
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

/// The one label of an example: as it was settled, or on which all answers agree; "" if they differ.
std::string label_of(const Asked& asked) {
  if (!asked.settled.empty()) return asked.settled;
  const std::string& first = asked.answers.front().label;
  const bool agreed = std::ranges::all_of(asked.answers, [&](const Answered& a) { return a.label == first; });
  return agreed ? first : "";
}

int export_labels(const JournalCommandOptions& o) {
  check_output({"--out", o.out}, files_in("--dir", o.dir));
  Collector collect;
  const Beginning beginning = beginning_of(o);
  if (beginning.state) {
    collect.begin(*beginning.state);
    std::cerr << "quorate: the events before " << grouped(beginning.sequence)
              << " were dropped: of the answers before, those that the snapshot has are written, without their seconds\n";
  }
  each_event(o, beginning.sequence, [&](std::string_view event) { collect(event); });
  each_event(o, beginning.sequence, [&](std::string_view event) { collect.note_lines(event); });
  OutputFile out(o.out);
  if (o.to == "csv") out.write("ticket,example,task,label,annotator,at,seconds,probability,audit,settled\n");
  if (o.to == "labelstudio") out.write("[");
  const DeskSettings settings = DeskSettings::from_json(JournalReader(o.dir, first_of(o.dir)).header().text);
  const std::string label_key = settings.reading.label.empty() ? "label" : settings.reading.label;
  std::uint64_t disputed = 0;
  const char* before = "\n";
  for (const auto& [ticket, asked] : collect.questions()) {
    if (asked.answers.empty()) continue;
    Json data = Json::parse(collect.line(asked), nullptr, false);
    if (data.is_discarded()) data = Json::object();
    if (o.to == "examples") {
      data[label_key] = label_of(asked);
      if (label_of(asked).empty())
        ++disputed;
      else
        out.write(data.dump() + "\n");
      continue;
    }
    Json annotations = Json::array();
    for (const Answered& a : asked.answers) {
      if (o.to == "csv") {
        const auto cell = [](const Json& value) {
          return value.is_null() ? "" : value.is_boolean() ? (value ? "yes" : "no") : value.dump();
        };
        out.write(std::to_string(ticket) + "," + csv_quoted(asked.example) + "," + csv_quoted(asked.task) + "," +
                  csv_quoted(a.label) + "," + csv_quoted(a.annotator) + "," + cell(a.at) + "," + cell(a.seconds) + "," +
                  cell(asked.probability) + "," + cell(asked.audit) + "," + csv_quoted(asked.settled) + "\n");
      } else if (o.to == "jsonl") {
        out.write(Json{{"ticket", ticket},
                       {"example", asked.example},
                       {"task", asked.task},
                       {"label", a.label},
                       {"annotator", a.annotator},
                       {"at", a.at},
                       {"seconds", a.seconds},
                       {"probability", asked.probability},
                       {"audit", asked.audit},
                       {"settled", text_or_null(asked.settled)},
                       {"data", data}}
                      .dump() +
                  "\n");
      } else {
        annotations.push_back({{"result", Json::array({{{"from_name", "label"},
                                                        {"to_name", "text"},
                                                        {"type", "choices"},
                                                        {"value", {{"choices", Json::array({a.label})}}}}})},
                               {"lead_time", a.seconds},
                               {"meta", {{"annotator", a.annotator}, {"at", a.at}}}});
      }
    }
    if (o.to != "labelstudio") continue;
    out.write(before + Json{{"data", data},
                            {"meta", {{"example", asked.example}, {"task", asked.task}, {"ticket", ticket}}},
                            {"annotations", annotations}}
                           .dump());
    before = ",\n";
  }
  if (o.to == "labelstudio") out.write("\n]\n");
  out.commit();
  if (disputed > 0)
    std::cerr << "quorate: " << counted(disputed, "example")
              << " with answers that differ left out; settle them on the team page\n";
  return kDone;
}

/// The events of o.dir and those that forget, into a new folder; with the snapshot that they go on from, if there is one.
std::string rebuilt(const JournalCommandOptions& o) {
  const Beginning beginning = beginning_of(o);
  JournalReader reader(o.dir, beginning.sequence, o.until);
  JournalOptions how;
  how.header = reader.header().text;
  how.first = beginning.sequence;
  Journal journal(o.out, how);
  const DeskSettings settings = DeskSettings::from_json(how.header);
  std::optional<Desk> desk;
  if (beginning.state) {
    const std::string from = server::snapshot_name(o.dir, beginning.sequence),
                      to = server::snapshot_name(o.out, beginning.sequence);
    for (const char* ending : {".model", ".desk"}) std::filesystem::copy_file(from + ending, to + ending);
    desk.emplace(settings, Model::load(from + ".model"), *beginning.state);
  } else {
    desk.emplace(settings);
  }
  std::map<std::uint64_t, std::string> examples;
  while (const auto record = reader.next()) {
    const DeskReply reply = desk->apply(record->payload);
    server::check_replayed(o.dir, record->sequence, record->payload, reply);
    journal.append(record->payload);
    check_interrupt();
    if (o.without.empty()) continue;
    const Json& body = reply.body;
    if (body.contains("question") && !body["question"].is_null())  // it may have been in the pool
      examples[body["question"].at("ticket")] = body["question"].at("example");
    if (!body.contains("examples")) continue;
    for (const Json& one : body["examples"])
      if (one.contains("ticket")) examples[one["ticket"]] = one.at("id");
  }
  std::set<std::string> forgotten;  // an example may have had several questions
  for (const std::uint64_t ticket : o.without) {
    const auto found = examples.find(ticket);
    const Desk::Posted* about = desk->about(ticket);
    if (found == examples.end() && about == nullptr)
      throw UsageError("--without " + std::to_string(ticket) + ": no question has this ticket");
    const std::string& example = found != examples.end() ? found->second : about->example;
    if (!forgotten.insert(example).second) continue;
    const Event forget{desk->time(), event::ForgetExample{example}};
    const DeskReply reply = desk->apply(forget);
    if (!reply.changed || !reply.done()) throw DataError("--without " + std::to_string(ticket) + ": " + reply.detail());
    journal.append(to_record(forget));
  }
  if (const std::uint64_t end = journal.end(); end > beginning.sequence && !journal.wait(end - 1))
    throw FileError(journal.failed());
  return counted(journal.end(), "event") + ", " + counted(desk->model().session.total().labels, "label") + " bought";
}

int rebuild(const JournalCommandOptions& o) {
  if (o.out == "-") throw UsageError("--out is required: a new folder");
  if (file_exists(o.out)) throw UsageError("--out " + o.out + ": exists; expected a new folder");
  first_of(o.dir);
  JournalCommandOptions into = o;  // half of it could be served, so it has its name when it is whole
  into.out = std::filesystem::path(o.out).lexically_normal().string();
  while (into.out.ends_with('/')) into.out.pop_back();
  into.out += ".part";
  std::error_code error;
  std::filesystem::remove_all(into.out, error);
  std::string what;
  try {
    what = rebuilt(into);
  } catch (...) {
    std::filesystem::remove_all(into.out, error);
    throw;
  }
  std::filesystem::rename(into.out, o.out, error);
  if (error) throw FileError(o.out + ": cannot be made of " + into.out + ": " + error.message());
  std::cout << o.out << ": " << what << "; serve it with quorate serve --dir " << o.out << "\n";
  return kDone;
}

}  // namespace

Command add_journal(CLI::App& app) {
  const auto o = std::make_shared<JournalCommandOptions>();
  app.require_subcommand(1);
  const auto add = [&](const char* name, const char* help) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->add_option("--dir", o->dir, "folder of quorate serve")->required()->type_name("FOLDER");
    return sub;
  };
  CLI::App* check = add("verify", "check that every event is as it was written");
  CLI::App* print = add("show", "print events as JSON lines");
  print->add_option("--from", o->from, "first event")->check(whole(0))->capture_default_str();
  CLI::App* labelled = add("export", "write the answers: who, when, what was asked, with which probability");
  labelled->add_option("--out", o->out, "file to write; - for standard output")->capture_default_str()->type_name("FILE");
  choose(labelled->add_option("--to", o->to,
                              "format: a line an answer, Label Studio's tasks, or examples with their labels, as quorate "
                              "train reads them"),
         {"jsonl", "csv", "labelstudio", "examples"})
      ->capture_default_str();
  labelled->footer("Example:\n  quorate journal export --dir spam --to examples --out labels.jsonl");
  CLI::App* again = add("rebuild", "make a new folder from the events of another");
  again->add_option("--out", o->out, "folder to make")->required()->type_name("FOLDER");
  again->add_option("--without", o->without, "forget the example of this question and its answers: tickets")
      ->delimiter(',')
      ->check(whole(0))
      ->type_name("TICKET");
  for (CLI::App* sub : {print, labelled, again})
    sub->add_option("--until", o->until, "stop before this event (default: all)")->check(whole(0));
  check->footer("Exit code 1 if anything was changed after it was written; the message names file and offset.");
  again->footer(
      "What was asked later stays asked. The model becomes the one that learned without the answers.\nExample:\n  quorate "
      "journal rebuild --dir spam --out spam-2 --without 17");
  return [=] {
    if (check->parsed()) return verify(*o);
    if (print->parsed()) return show(*o);
    if (labelled->parsed()) return export_labels(*o);
    return rebuild(*o);
  };
}

}  // namespace quorate::cli
