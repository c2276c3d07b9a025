// A desk: the input chooses its settings and a sequence of events, well formed or not. Budgets hold after each, an event
// that is refused changes nothing, and both a snapshot and the events that changed something give the same desk.
#include "quorate/desk/desk.h"

#include <array>
#include <vector>

#include "fuzz.h"

namespace {

using namespace quorate;
using Json = nlohmann::json;

constexpr std::array<const char*, 5> kAnnotators{"ann", "bob", "eve", "", "<b>\xC3\xA9"};
constexpr std::array<const char*, 6> kWords{"win", "money", "lunch", "noon", "\xC3\xA9t\xC3\xA9", "a,\"b\\"};
constexpr std::array<const char*, 5> kLabels{"spam", "ham", "", "egg", "HAM"};

DeskSettings settings(fuzz::Input& in) {
  static const std::array<const char*, 5> kLearners{"cohort", "cohort(query=always)", "cmtl(query=margin(b=1))",
                                                    "peer(b=1000, bq=1000)", "perceptron"};
  DeskSettings out;
  out.learner = kLearners[in.byte() % kLearners.size()];
  if (in.flag()) {
    out.classes = {"spam", "ham", "egg"};
  } else {
    out.positive = "spam";
    out.negative = "ham";
  }
  out.learning.seed = in.byte();
  out.learning.labels = {std::to_string(in.byte() % 32)};
  out.learning.audit = in.byte() % 4 / 4.0;
  out.features.bits = 6;
  out.desk.lease = 10;
  out.desk.opinions = in.byte() % 3 / 2.0;
  out.desk.open = 1 + in.byte() % 8;
  out.desk.pool = in.byte() % 8;
  if (const std::uint8_t each = in.byte() % 16; each > 0) out.desk.labels_per_annotator = each;
  if (const std::uint8_t hold = in.byte() % 8; hold > 0) out.desk.hold = hold;
  return out;
}

std::string example(fuzz::Input& in) {
  Json line{{"id", "m" + std::to_string(in.byte() % 64)},
            {"task", "t" + std::to_string(in.byte() % 4)},
            {"text", std::string(kWords[in.byte() % kWords.size()]) + " " + kWords[in.byte() % kWords.size()]}};
  const std::uint8_t more = in.byte();
  if (more % 8 == 0) line["label"] = kLabels[more / 8 % kLabels.size()];
  if (more % 8 == 1) line["x"] = more;
  if (more % 8 == 2) line.erase("task");
  return line.dump();
}

/// `number` bytes of the input.
std::string bytes(fuzz::Input& in, std::size_t number) {
  std::string out;
  for (; number > 0 && !in.empty(); --number) out += static_cast<char>(in.byte());
  return out;
}

/// An event at `now`. Leases are picked from those given.
std::string event(fuzz::Input& in, double now, const std::vector<std::string>& leases) {
  const auto lease = [&]() -> std::string { return leases.empty() ? "0-x" : leases[in.byte() % leases.size()]; };
  const auto annotator = [&] { return kAnnotators[in.byte() % kAnnotators.size()]; };
  const auto label = [&] { return kLabels[in.byte() % kLabels.size()]; };
  Json out{{"at", now}};
  std::string lines;
  switch (in.byte() % 16) {
    case 0:
      out.update({{"do", "next"}, {"annotator", annotator()}, {"hold", in.byte() % 5}});
      break;
    case 1:
    case 2:
      out.update({{"do", "answer"}, {"lease", lease()}, {"label", label()}, {"seconds", in.byte()}});
      break;
    case 3:
      out.update({{"do", "skip"}, {"lease", lease()}});
      break;
    case 4:
      out.update({{"do", "undo"}, {"annotator", annotator()}});
      break;
    case 5:
      out.update({{"do", "renew"}, {"lease", lease()}});
      break;
    case 6:
      out.update({{"do", "put"}, {"ticket", in.byte() % 32}, {"annotator", annotator()}, {"source", "tool"}});
      out["label"] = in.flag() ? Json(label()) : Json();
      if (in.flag()) out["holder"] = annotator();
      break;
    case 7:
      out.update({{"do", "decide"}, {"ticket", in.byte() % 32}, {"label", label()}});
      break;
    case 8:
      out.update({{"do", "limits"}, {"labels", in.byte() % 32}});
      if (in.flag()) out["audits"] = in.flag();
      break;
    case 9:
      out.update({{"do", "tick"}});
      break;
    case 10:
      out.update({{"do", "forget_task"}, {"task", "t" + std::to_string(in.byte() % 4)}});
      break;
    case 11:
      out.update({{"do", "forget_example"}, {"example", "m" + std::to_string(in.byte() % 64)}});
      break;
    case 12:  // whatever the input has
      return bytes(in, in.byte());
    case 13:
      out["do"] = "examples";
      lines = "\n" + bytes(in, in.byte());
      break;
    case 14:
      out.update({{"do", "shared"}, {"source", annotator()}, {"read", in.byte()}});
      out["positions"] = {in.byte(), in.byte()};
      out["probabilities"] = {in.flag() ? Json() : Json(in.byte() / 128.0), nullptr};
      lines = "\n" + example(in) + "\n" + example(in) + "\n";
      break;
    default:
      out["do"] = "examples";
      for (int n = in.byte() % 3; n >= 0; --n) lines += "\n" + example(in);
  }
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + lines;
}

struct State {
  std::string model, desk;
  bool operator==(const State&) const = default;
};
State state(const Desk& desk) { return {desk.model().to_bytes(), desk.save()}; }

/// `before`: labels bought before the event, which a lower limit does not take back.
void check(const Desk& desk, std::uint64_t before) {
  const auto& budget = desk.model().session.budget();
  const std::uint64_t most = std::max(budget.limits().total, before);
  fuzz::require(budget.bought() <= most, "no more labels than the limit");
  const Json status = Json::parse(desk.status().text(), nullptr, false);
  fuzz::require(status.is_object(), "the status is JSON");
  fuzz::require(status["labels"]["bought"].get<std::uint64_t>() <= most, "no more labels answered than the limit");
}

void play(fuzz::Input& in) {
  const DeskSettings given = settings(in);
  std::optional<Desk> desk(std::in_place, given);
  std::vector<std::string> journal, leases;
  State last = state(*desk);
  // As in the server; the journal is applied again without it.
  const auto beside = [&] {
    desk->rebuild_beside([&](const auto& work) {
      const State before = state(*desk);
      work();
      fuzz::require(state(*desk) == before, "nobody sees a rebuild before its end");
    });
  };
  beside();
  double now = 1e6;
  for (int step = 0; step < 100 && !in.empty(); ++step) {
    now += in.byte() % 6;
    const std::string text = event(in, now, leases);
    const std::uint64_t bought = desk->model().session.budget().bought();
    const DeskReply reply = desk->apply(text);
    const Json body = Json::parse(reply.text(), nullptr, false);
    fuzz::require(body.is_object(), "a reply is JSON");
    if (reply.changed) {
      journal.push_back(text);
      last = state(*desk);
    } else {
      fuzz::require(state(*desk) == last, "an event that is refused changes nothing");
    }
    if (const auto question = body.find("question"); question != body.end() && question->is_object())
      leases.push_back((*question)["lease"]);
    check(*desk, bought);
    if (in.byte() % 32 == 0) {
      desk.emplace(given, Model::from_bytes(last.model), last.desk);
      fuzz::require(state(*desk) == last, "a desk goes on from its snapshot");
      beside();
    }
    desk->predict(text);
    desk->explain(in.byte() % 32);
    desk->answers(in.byte() % 32, "");
    desk->labels(0, 100);
    desk->tasks(0, 100);
  }
  Desk again(given);
  for (const std::string& text : journal) fuzz::require(again.apply(text).changed, "a journal's event applies again");
  fuzz::require(state(again) == last, "the journal gives the same desk");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input in(data, size);
  fuzz::only_errors([&] { play(in); });
  return 0;
}
