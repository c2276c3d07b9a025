// A random history of a desk. Whatever decides what comes next is in its snapshot and in its journal: a desk that was loaded
// from a snapshot a moment ago, and one that was given the journal alone, are the same to the bit and reply the same.
#pragma once
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "quorate/desk/desk.h"
#include "quorate/store/tensors.h"

namespace quorate::test {

/// The names of the tensors and of the parts of the state that differ; empty: none.
inline std::string difference(const Desk& a, const Desk& b) {
  std::string out;
  const auto note = [&](const std::string& name) { out += (out.empty() ? "" : ", ") + name; };
  if (const std::string x = a.model().to_bytes(), y = b.model().to_bytes(); x != y) {
    const Tensors p = from_bytes(x), q = from_bytes(y);
    const auto bytes = [](const Tensors& of, const std::string& name) {
      const auto found = of.tensors.find(name);
      std::vector<std::byte> all(found == of.tensors.end() ? 0 : found->second.bytes.size());
      if (!all.empty()) found->second.bytes.read(0, all);
      return all;
    };
    Tensors both = p;
    both.tensors.insert(q.tensors.begin(), q.tensors.end());
    for (const auto& [name, none] : both.tensors)
      if (bytes(p, name) != bytes(q, name)) note("tensor " + name);
    if (out.empty()) note("metadata of the model");
  }
  const nlohmann::json x = nlohmann::json::parse(a.save()), y = nlohmann::json::parse(b.save());
  for (const auto& [key, value] : x.items())
    if (!y.contains(key) || y[key] != value) note("state " + key);
  for (const auto& [key, value] : y.items())
    if (!x.contains(key)) note("state " + key);
  return out;
}

/// draw(n): a number below n, which is at most 256.
template <class Draw>
DeskSettings random_settings(Draw& draw, const std::string& learner) {
  const auto one_of = [&](const auto&... choices) {
    using T = std::common_type_t<decltype(choices)...>;
    return std::array<T, sizeof...(choices)>{choices...}[draw(sizeof...(choices))];
  };
  DeskSettings out;
  out.learner = learner;
  const Capabilities can = capabilities(parse_spec(learner));
  if (draw(4) == 0) {
    out.classes = {"spam", "ham", "egg"};
    out.reduction = draw(2) == 0 ? "one-vs-rest" : "one-vs-one";
  } else {
    out.positive = "spam";
    out.negative = "ham";
  }
  LearningOptions& l = out.learning;
  l.seed = draw(256);
  const bool total = draw(4) > 0;
  if (total) l.labels.push_back(std::to_string(draw(80)));
  if (draw(3) == 0) l.labels.push_back(one_of("2/10", "5/20", "3/second", "10/minute", "1/minute"));
  if (draw(4) == 0) l.labels_per_task = draw(12);
  if (total && can.paced && draw(2) == 0) {
    l.pace = PaceRule::kEven;
    l.length = 1 + draw(120);
  }
  if (draw(2) == 0) {
    l.audit = one_of(0.05, 0.2, 0.5, 1.0);
    if (draw(2) == 0) l.audit_floor = one_of(0.01, 0.3);
  }
  if (draw(4) == 0) l.memory = ByteSize{one_of(30'000U, 100'000U, 300'000U, 1'000'000U)};
  if (draw(2) == 0) l.keep_labels = ByteSize{one_of(0U, 1'000U, 4'000U, 100'000U)};
  if (draw(3) == 0) l.max_pending = 1 + draw(12);
  out.features.bits = one_of(0U, 6U, 8U);
  if (draw(6) == 0) out.features.ngrams = 2;
  DeskOptions& d = out.desk;
  d.lease = one_of(10.0, 60.0);
  d.open = 1 + draw(12);
  d.pool = one_of(0U, 3U, 20U, 200U);
  if (draw(2) == 0) d.opinions = one_of(0.1, 0.5, 1.0);
  if (draw(3) == 0) d.labels_per_annotator = 1 + draw(12);
  if (draw(3) == 0) d.hold = draw(12);
  return out;
}

template <class Draw>
class History {
 public:
  /// Throws as Desk.
  History(const DeskSettings& settings, Draw& draw) : settings_(settings), draw_(draw), live_(settings), loaded_(settings) {
    live_->rebuild_beside([](const auto& work) { work(); });  // as in the server
  }

  /// One event and what must be true after it; the reason if it is not.
  std::string step() { return step(some_event()); }
  std::string step(const std::string& event) {
    const bool look = draw_(3) == 0 || std::getenv("QUORATE_LOOK") != nullptr;
    std::optional<Desk> before;
    if (look) before.emplace(copy(*live_));
    const std::uint64_t bought = live_->model().session.budget().bought();
    const DeskReply reply = live_->apply(event), same = loaded_->apply(event);
    if (reply.verdict != same.verdict || reply.text() != same.text() || reply.changed != same.changed)
      return "a desk from a snapshot replies otherwise to " + event + ": " + reply.text() + " / " + same.text() +
             "; differs: " + difference(*live_, *loaded_);
    if (reply.changed) {
      journal_.push_back(event);
    } else if (look) {
      if (const std::string differs = difference(*live_, *before); !differs.empty())
        return "an event that is no part of the journal, " + event + ", changes " + differs + "; reply " + reply.text();
    }
    if (const std::string what = check_limits(bought); !what.empty()) return what + " after " + event;
    note(reply);
    if (draw_(10) == 0) {
      if (const std::string differs = difference(*live_, *loaded_); !differs.empty())
        return "a desk from a snapshot differs some events later, the last of them " + event + ": " + differs;
      loaded_.emplace(copy(*live_));
      if (const std::string differs = difference(*live_, *loaded_); !differs.empty())
        return "a desk differs from its snapshot: " + differs;
    }
    return "";
  }

  /// Whether the journal gives the desk; the reason if not.
  std::string replay() const {
    Desk again(settings_);
    for (const std::string& event : journal_)
      if (const DeskReply reply = again.apply(event); !reply.changed)
        return "an event of the journal does not apply: " + event + ": " + reply.text();
    const std::string differs = difference(*live_, again);
    return differs.empty() ? "" : "the journal gives another desk: " + differs;
  }

  const Desk& desk() const { return *live_; }
  std::size_t events() const { return journal_.size(); }
  double now() const { return now_; }
  std::uint64_t answers() const { return answers_; }

 private:
  using Json = nlohmann::json;

  Desk copy(const Desk& desk) const { return Desk(settings_, Model::from_bytes(desk.model().to_bytes()), desk.save()); }

  std::string check_limits(std::uint64_t before) const {
    const Session& session = live_->model().session;
    const std::uint64_t most = std::max(session.budget().limits().total, before);
    if (session.budget().bought() > most) return "more labels than the limit";
    const auto each = settings_.learning.labels_per_task;
    if (each && settings_.classes.empty())
      for (std::uint32_t i = 0; i < session.tasks().size(); ++i)
        if (session.count(i).labels + session.pending().of_task(i) > *each) return "more labels of a task than its limit";
    return "";
  }

  std::string annotator() { return std::array{"ann", "bob", "eve"}[draw_(3)]; }
  std::string label() {
    return std::array{"spam", "ham", "egg"}[draw_(20) == 0 ? 2 : draw_(settings_.classes.empty() ? 2 : 3)];
  }
  std::string id() { return "m" + std::to_string(draw_(256)); }
  std::string lease() {
    if (leases_.empty() || draw_(40) == 0) return "3-x";  // unknown
    const std::size_t back = draw_(draw_(4) > 0 ? 3 : 40);
    return leases_[leases_.size() - 1 - std::min(back, leases_.size() - 1)];
  }
  std::uint64_t ticket() { return draw_(draw_(2) == 0 ? 20 : 120); }

  std::string example() {
    constexpr std::array<const char*, 8> kWords{"win",  "money", "lunch", "noon", "prize", "see", "\xC3\xA9t\xC3\xA9",
                                                "a,\"b"};
    Json line{{"id", id()}, {"task", "t" + std::to_string(draw_(4))}};
    switch (draw_(12)) {
      case 0:
        line["x"] = {{"a", draw_(9)}, {"b", 0.5}};
        break;
      case 1:
        line["size"] = draw_(200);
        [[fallthrough]];
      default: {
        std::string text;
        for (std::uint64_t n = 1 + draw_(4); n > 0; --n) text += std::string(kWords[draw_(kWords.size())]) + " ";
        line["text"] = text;
      }
    }
    if (draw_(15) == 0) line["label"] = label();
    if (draw_(25) == 0) line["weight"] = std::array{0.5, 2.0, 3.5}[draw_(3)];
    if (draw_(40) == 0) line.erase("task");
    if (draw_(60) == 0) return "{\"id\": 3, ";
    return line.dump();
  }

  std::string some_event() {
    now_ += static_cast<double>(draw_(4)) + (draw_(100) == 0 ? 50'000 : 0);
    Json out{{"at", draw_(50) == 0 ? now_ - 5 : now_}};
    std::string lines;
    switch (draw_(32)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        out.update({{"do", "next"}, {"annotator", annotator()}});
        if (draw_(3) == 0) out["hold"] = draw_(6);
        break;
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
      case 11:
        out.update({{"do", "answer"}, {"lease", lease()}, {"label", label()}, {"seconds", draw_(30)}});
        break;
      case 12:
        out.update({{"do", "skip"}, {"lease", lease()}});
        break;
      case 13:
      case 14:
        out.update({{"do", "undo"}, {"annotator", annotator()}});
        break;
      case 15:
        out.update({{"do", "renew"}, {"lease", lease()}});
        break;
      case 16:
      case 17:
        out.update({{"do", "put"}, {"ticket", ticket()}, {"annotator", annotator()}, {"source", "tool " + id()}});
        out["label"] = draw_(4) > 0 ? Json(label()) : Json();
        if (draw_(2) == 0) out["holder"] = annotator();
        if (draw_(2) == 0) out["example"] = id();
        break;
      case 18:
        out.update({{"do", "decide"}, {"ticket", ticket()}, {"label", label()}});
        break;
      case 19:
        out.update({{"do", "limits"}, {"labels", draw_(5) == 0 ? Json() : Json(draw_(200))}});
        if (draw_(3) == 0) out["audits"] = draw_(2) == 0;
        break;
      case 20:
        if (draw_(3) > 0) {
          out.update({{"do", "tick"}});
        } else {
          DeskOptions desk = live_->settings().desk;
          desk.opinions = std::array{0.0, 0.5, 1.0}[draw_(3)];
          desk.hold = static_cast<double>(draw_(12));
          desk.open = 1 + draw_(12);
          out.update({{"do", "settings"}, {"desk", Json::parse(desk.to_json())}});
        }
        break;
      case 21:
        if (draw_(3) == 0)
          out.update({{"do", "forget_task"}, {"task", "t" + std::to_string(draw_(4))}});
        else
          out.update({{"do", "forget_example"}, {"example", id()}});
        break;
      default:
        out["do"] = "examples";
        for (std::uint64_t n = draw_(4) == 0 ? 1 + draw_(20) : 1; n > 0; --n) lines += "\n" + example();
    }
    return out.dump() + lines;
  }

  void note(const DeskReply& reply) {
    const Json body = Json::parse(reply.text());
    if (const auto question = body.find("question"); question != body.end() && question->is_object())
      leases_.push_back((*question)["lease"]);
    answers_ += body.contains("saved");
  }

  DeskSettings settings_;
  Draw& draw_;
  std::optional<Desk> live_, loaded_;
  std::vector<std::string> journal_, leases_;
  double now_ = 1'000'000;
  std::uint64_t answers_ = 0;
};

}  // namespace quorate::test
