// quorate journal: what quorate serve keeps. Reads the files of a folder, also while it is served.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <set>
#include <unordered_map>

#include "common.h"
#include "help.h"
#include "quorate/base/csv.h"
#include "quorate/desk/desk.h"
#include "quorate/journal/journal.h"
#include "quorate/store/files.h"
#include "server/service.h"

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

/// Everything that happened, on a desk of its own. Calls use(sequence, event, lines, reply, desk) after each event.
using Use = std::function<void(const JournalReader::Record&, const DeskReply&, const Desk&)>;
Desk replayed(const JournalCommandOptions& o, const Use& use) {
  if (first_of(o.dir) > 0)
    throw DataError(o.dir + ": the events before " + grouped(first_of(o.dir)) +
                    " were dropped; expected a whole journal, as quorate serve --keep-journal all keeps");
  JournalReader reader(o.dir, 0, o.until);
  Desk desk(DeskSettings::from_json(reader.header().text));
  while (const auto record = reader.next()) {
    const DeskReply reply = desk.apply(record->payload);
    if (!reply.changed && reply.status >= 300)
      throw DataError(o.dir + ": event " + std::to_string(record->sequence) + " does not apply: " + reply.body +
                      "; expected the version of quorate that wrote it");
    use(*record, reply, desk);
    check_interrupt();
  }
  return desk;
}

/// An answer and what it was about.
struct Answered {
  std::uint64_t ticket = 0;
  std::string label, annotator, settled;
  Json at, seconds, probability, audit;
};
struct Asked {
  std::string example, task, line;
  std::optional<Desk::Chance> chance;
  std::vector<Answered> answers;
};

/// Collects questions and answers from events and replies.
class Collector {
 public:
  void operator()(const JournalReader::Record& record, const DeskReply& reply, const Desk& desk) {
    const std::string_view text = record.payload;
    const auto end = std::min(text.find('\n'), text.size());
    const Json event = Json::parse(text.substr(0, end)), body = Json::parse(reply.body);
    const std::string what = event.at("do");
    if (reply.status >= 300) return;
    if (what == "examples")
      examples(text.substr(std::min(end + 1, text.size())), body, desk);
    else if (what == "next")
      leased(event, body, desk);
    else if (what == "answer")
      add(event, body, annotators_[event.at("lease")]);
    else if (what == "undo")
      undone(event, body, desk);
    else if (what == "put")
      put(event, body, desk);
    else if (what == "decide")
      for (Answered& a : questions_[event.at("ticket")].answers) a.settled = event.at("label");
    else if (what == "forget_task")
      std::erase_if(questions_, [&](const auto& q) { return q.second.task == event.at("task"); });
    else if (what == "forget_example")
      std::erase_if(questions_, [&](const auto& q) { return q.second.example == event.at("example"); });
  }

  const std::map<std::uint64_t, Asked>& questions() const { return questions_; }

 private:
  void examples(std::string_view lines, const Json& body, const Desk& desk) {
    for (const Json& one : body.at("examples")) {
      std::string_view line;
      do {
        const auto end = std::min(lines.find('\n'), lines.size());
        line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
      } while (line.find_first_not_of(" \t\r") == line.npos && !lines.empty());
      if (!one.contains("ticket")) continue;
      const std::uint64_t ticket = one["ticket"];
      questions_[ticket] = {one.at("id"), one.at("task"), std::string(line), desk.chance(ticket), {}};
    }
  }
  void leased(const Json& event, const Json& body, const Desk& desk) {
    const Json& question = body.at("question");
    if (question.is_null()) return;
    const std::uint64_t ticket = question.at("ticket");
    annotators_[question.at("lease")] = event.at("annotator");
    if (const auto* about = desk.about(ticket); about != nullptr && !questions_.contains(ticket))  // it was in the pool
      questions_[ticket] = {about->example, about->task, about->line, desk.chance(ticket), {}};
  }
  void put(const Json& event, const Json& body, const Desk& desk) {
    const std::string annotator = event.at("annotator");
    const std::uint64_t ticket = body.at("ticket");
    if (const Json now = Json::parse(desk.answers(ticket, "").body); now.contains("lease") && !now["lease"].is_null())
      annotators_[now["lease"]] = now.at("holder");  // an answer taken back leases the question
    Asked& asked = questions_[ticket];
    if (const auto chance = desk.chance(ticket)) asked.chance = chance;  // withdrawn, it is answered as a gift
    std::vector<Answered>& answers = asked.answers;
    if (const auto same = std::ranges::find(answers, annotator, &Answered::annotator); same != answers.end()) {
      if (body.at("label") == same->label) return;
      answers.erase(same);
    }
    if (!body.at("label").is_null()) add(event, body, annotator);
  }
  void add(const Json& event, const Json& body, const std::string& annotator) {
    Asked& asked = questions_[body.at("ticket")];
    Answered out{body.at("ticket"), body.at("label"), annotator, "", event.at("at"), event.value("seconds", Json(nullptr)),
                 nullptr,           nullptr};
    if (asked.chance) {
      out.probability = asked.chance->probability;
      out.audit = asked.chance->audit;
    }
    asked.answers.push_back(std::move(out));
  }
  void undone(const Json& event, const Json& body, const Desk& desk) {
    const std::uint64_t ticket = body.at("undone").at("ticket");
    std::erase_if(questions_[ticket].answers, [&](const Answered& a) { return a.annotator == event.at("annotator"); });
    leased(event, body, desk);
  }

  std::map<std::uint64_t, Asked> questions_;
  std::unordered_map<std::string, std::string> annotators_;  // by lease
};

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

int export_labels(const JournalCommandOptions& o) {
  check_output({"--out", o.out}, files_in("--dir", o.dir));
  Collector collect;
  replayed(o, std::ref(collect));
  OutputFile out(o.out);
  if (o.to == "csv") out.write("ticket,example,task,label,annotator,at,seconds,probability,audit,settled\n");
  if (o.to == "labelstudio") out.write("[");
  const char* before = "\n";
  for (const auto& [ticket, asked] : collect.questions()) {
    if (asked.answers.empty()) continue;
    Json data = Json::parse(asked.line, nullptr, false);
    if (data.is_discarded()) data = Json::object();
    Json annotations = Json::array();
    for (const Answered& a : asked.answers) {
      if (o.to == "csv") {
        const auto cell = [](const Json& value) {
          return value.is_null() ? "" : value.is_boolean() ? (value ? "yes" : "no") : value.dump();
        };
        out.write(std::to_string(ticket) + "," + csv_quoted(asked.example) + "," + csv_quoted(asked.task) + "," +
                  csv_quoted(a.label) + "," + csv_quoted(a.annotator) + "," + cell(a.at) + "," + cell(a.seconds) + "," +
                  cell(a.probability) + "," + cell(a.audit) + "," + csv_quoted(a.settled) + "\n");
      } else if (o.to == "jsonl") {
        out.write(Json{{"ticket", ticket},
                       {"example", asked.example},
                       {"task", asked.task},
                       {"label", a.label},
                       {"annotator", a.annotator},
                       {"at", a.at},
                       {"seconds", a.seconds},
                       {"probability", a.probability},
                       {"audit", a.audit},
                       {"settled", text_or_null(a.settled)},
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
  return kDone;
}

/// The events of o.dir and those that forget, into a new folder.
std::string rebuilt(const JournalCommandOptions& o) {
  JournalOptions how;
  how.header = JournalReader(o.dir, first_of(o.dir)).header().text;
  Journal journal(o.out, how);
  std::map<std::uint64_t, std::string> examples;
  Desk desk = replayed(o, [&](const JournalReader::Record& record, const DeskReply& reply, const Desk&) {
    journal.append(record.payload);
    if (o.without.empty() || !record.payload.starts_with("{")) return;
    const Json body = Json::parse(reply.body, nullptr, false);
    if (body.contains("question") && !body["question"].is_null())  // it may have been in the pool
      examples[body["question"].at("ticket")] = body["question"].at("example");
    if (!body.contains("examples")) return;
    for (const Json& one : body["examples"])
      if (one.contains("ticket")) examples[one["ticket"]] = one.at("id");
  });
  std::set<std::string> forgotten;  // an example may have had several questions
  for (const std::uint64_t ticket : o.without) {
    const auto found = examples.find(ticket);
    if (found == examples.end()) throw UsageError("--without " + std::to_string(ticket) + ": no question has this ticket");
    if (!forgotten.insert(found->second).second) continue;
    const std::string event = Json{{"at", desk.time()}, {"do", "forget_example"}, {"example", found->second}}.dump();
    const DeskReply reply = desk.apply(event);
    if (!reply.changed || reply.status >= 300)
      throw DataError("--without " + std::to_string(ticket) + ": " + Json::parse(reply.body).value("detail", reply.body));
    journal.append(event);
  }
  if (const std::uint64_t end = journal.end(); end > 0 && !journal.wait(end - 1)) throw FileError(journal.failed());
  return counted(journal.end(), "event") + ", " + counted(desk.model().session.total().labels, "label") + " bought";
}

int rebuild(const JournalCommandOptions& o) {
  if (o.out == "-") throw UsageError("--out is required: a new folder");
  if (file_exists(o.out)) throw UsageError("--out " + o.out + ": exists; expected a new folder");
  first_of(o.dir);
  std::string what;
  try {
    what = rebuilt(o);
  } catch (...) {  // half of it could be served
    std::error_code ignored;
    std::filesystem::remove_all(o.out, ignored);
    throw;
  }
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
  choose(labelled->add_option("--to", o->to, "format; all but csv also have the examples"), {"jsonl", "csv", "labelstudio"})
      ->capture_default_str();
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
