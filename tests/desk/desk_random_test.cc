// The desk under random events of all kinds, beside plain books of what was said to the outside.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "quorate/base/rng.h"
#include "quorate/desk/desk.h"

namespace quorate {
namespace {

using Json = nlohmann::json;

constexpr double kDay = 86'400, kLease = 50;

struct Setting {
  const char* name;
  DeskSettings desk;
  std::uint64_t per_task = LabelLimits::kNone, per_day = LabelLimits::kNone, per_minute = LabelLimits::kNone;
};

DeskSettings settings_with(const std::string& learner) {
  DeskSettings out;
  out.positive = "spam";
  out.negative = "ham";
  out.learner = learner;
  out.desk.lease = kLease;
  return out;
}

std::vector<Setting> all_settings() {
  std::vector<Setting> out;
  const auto add = [&](const char* name, const std::string& learner) -> Setting& {
    out.push_back({name, settings_with(learner)});
    return out.back();
  };
  const std::string always = "cohort(query=always)";
  {
    Setting& s = add("a total, a daily limit, second opinions", always);
    s.desk.learning.labels = {"150"};
    s.desk.desk.opinions = 0.3;
    s.desk.desk.labels_per_annotator = s.per_day = 12;
  }
  {
    Setting& s = add("audits, a rate, few open questions", "cohort");
    s.desk.learning.audit = 0.2;
    s.desk.learning.labels = {"20/minute"};
    s.per_minute = 20;
    s.desk.desk.open = 8;
    s.desk.desk.pool = 50;
  }
  {
    Setting& s = add("a narrow rate and a pool", always);
    s.desk.learning.labels = {"5/minute", "200"};
    s.per_minute = 5;
    s.desk.desk.open = 3;
  }
  {
    Setting& s = add("classes, few may wait", always);
    s.desk.positive = s.desk.negative = "";
    s.desk.classes = {"ham", "spam", "eggs"};
    s.desk.learning.max_pending = 12;
  }
  {
    Setting& s = add("answers held back, limits of tasks and days", always);
    s.desk.desk.hold = 20;
    s.desk.desk.opinions = 0.5;
    s.desk.learning.labels_per_task = s.per_task = 25;
    s.desk.desk.labels_per_annotator = s.per_day = 5;
  }
  {
    Setting& s = add("answers held back, few may wait, two opinions", always);
    s.desk.desk.hold = 60;
    s.desk.desk.opinions = 1;
    s.desk.learning.max_pending = 5;
  }
  add("a learner that cannot unlearn", "peer(b=1000, bq=1000)").desk.learning.labels = {"120"};
  add("a kernel learner, audits", "kernel-perceptron(query=always)").desk.learning.audit = 0.3;
  return out;
}

/// What was said to the outside.
struct Books {
  struct Answer {
    std::string annotator, label, lease;  // lease: or the source of one that was put
    double at;
  };
  struct Asked {
    std::string example, task;
    std::string lease, holder;  // the latest, until it is used; empty: nobody
    double until = 0;
    std::vector<Answer> answers;
    std::string settled;
    std::set<std::string> skipped;
    bool has(const std::string& who) const {
      return std::any_of(answers.begin(), answers.end(), [&](const Answer& a) { return a.annotator == who; });
    }
  };
  struct Gift {
    std::string example, task, label;
  };

  std::map<std::uint64_t, Asked> questions;     // by ticket
  std::map<std::string, std::uint64_t> leases;  // all there ever were, with their tickets
  std::vector<Gift> gifts;
  std::map<std::string, std::vector<std::uint64_t>> order;  // of each annotator's answers
  std::map<std::string, std::multiset<double>> times;       // of those, forgotten ones too

  std::uint64_t today(const std::string& who, double now) const {
    const auto found = times.find(who);
    if (found == times.end()) return 0;
    return static_cast<std::uint64_t>(std::distance(found->second.upper_bound(now - kDay), found->second.end()));
  }
  std::uint64_t held(const std::string& who, double now) const {
    return static_cast<std::uint64_t>(std::count_if(questions.begin(), questions.end(), [&](const auto& item) {
      return item.second.holder == who && item.second.until >= now;
    }));
  }
  /// Labels by task that are learned from, or wait for it.
  std::multiset<std::string> labels() const {
    std::multiset<std::string> out;
    for (const auto& [ticket, q] : questions)
      if (!q.answers.empty()) out.insert(q.task + " " + (q.settled.empty() ? q.answers[0].label : q.settled));
    for (const Gift& gift : gifts) out.insert(gift.task + " " + gift.label);
    return out;
  }
};

class RandomOffice {
 public:
  RandomOffice(const Setting& setting, std::uint64_t seed) : setting_(setting), desk(setting.desk), rng_(make_rng(seed, 0)) {
    choices_ = setting.desk.classes.empty() ? std::vector<std::string>{"spam", "ham"} : setting.desk.classes;
    desk.rebuild_beside([this](const auto& work) {  // as in the server; replays do without
      const std::string before = desk.status().text(), state = aside++ % 8 == 0 ? desk.save() : "";
      work();
      EXPECT_EQ(desk.status().text(), before);
      EXPECT_TRUE(state.empty() || desk.save() == state);
    });
  }

  DeskReply send(Json event, const std::string& lines = "") {
    const Session& session = desk.model().session;
    const std::uint64_t bought = session.budget().bought(), labels = session.total().labels;
    const bool look = draw(20) == 0;
    const std::string state = look ? desk.save() : "", model = look ? desk.model().to_bytes() : "";
    event["at"] = now;
    std::string text = event.dump();
    if (!lines.empty()) text += "\n" + lines;
    DeskReply reply = desk.apply(text);
    if (reply.changed) {
      journal.push_back(text);
      replies.push_back(reply);
    } else if (look) {
      EXPECT_EQ(desk.save(), state) << text;
      if (event["do"] != "examples") {
        EXPECT_EQ(desk.model().to_bytes(), model) << text;
      }
    }
    EXPECT_TRUE(reply.verdict != Verdict::kUnavailable && reply.verdict != Verdict::kNoMemory) << reply.text();
    // Budgets.
    const std::uint64_t after = session.budget().bought();
    if (after > bought) {
      EXPECT_LE(after, session.budget().limits().total) << text;
    }
    for (std::uint32_t i = 0; i < session.tasks().size() && setting_.desk.classes.empty(); ++i)
      EXPECT_LE(session.count(i).labels + session.pending().of_task(i), setting_.per_task) << text;
    for (std::uint64_t n = session.total().labels; n > labels; --n) answered_at_.push_back(now);
    EXPECT_LE(session.pending().size() + static_cast<std::uint64_t>(std::count_if(answered_at_.begin(), answered_at_.end(),
                                                                                  [&](double at) { return at > now - 60; })),
              setting_.per_minute)
        << text;
    EXPECT_LE(session.pending().size(), setting_.desk.learning.max_pending);
    EXPECT_EQ(session.too_late(), 0u) << "no answer is for nothing";
    return reply;
  }

  void step() {
    now += static_cast<double>(draw(5)) + (draw(300) == 0 ? kDay / 2 : 0);
    const std::string who(1, static_cast<char>('a' + draw(5)));
    switch (draw(24)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        return post();
      case 5:
      case 6:
      case 7:
      case 8:
      case 9:
        return next(who);
      case 10:
      case 11:
      case 12:
      case 13:
      case 14:
      case 15:
        return answer(some_lease(), some_label());
      case 16:
        return skip(some_lease());
      case 17:
      case 18:
        return undo(who);
      case 19:
        return renew(some_lease());
      case 20:
      case 21:
        return put(who);
      case 22:
        return decide();
      default:
        return draw(4) > 0 ? undo_is_exact(who) : seldom();
    }
  }

  /// What is learned and what is held back is what was said.
  void compare() {
    if (!setting_.desk.classes.empty()) return;
    std::multiset<std::string> found;
    const Session& session = desk.model().session;
    UnpackedInstance memory;
    for (std::size_t i = 0; i < session.labels().size(); ++i)
      found.insert(std::string(session.name_of(session.labels().example(i, memory).task)) +
                   (session.labels()[i].answer() == kYes ? " spam" : " ham"));
    const Json state = Json::parse(desk.save());
    for (const char* list : {"open", "closed"})
      for (const Json& q : state[list])
        if (q.contains("held"))
          found.insert(q["task"].get<std::string>() + " " +
                       (q["settled"] != "" ? q["settled"] : q["given"][0][1]).get<std::string>());
    ASSERT_EQ(found, books.labels());
  }

  Desk replayed(std::size_t from, Desk out) const {
    for (std::size_t i = from; i < journal.size(); ++i) {
      const DeskReply reply = out.apply(journal[i]);
      EXPECT_TRUE(reply.changed);
      EXPECT_EQ(reply.verdict, replies[i].verdict);
      EXPECT_EQ(reply.text(), replies[i].text());
    }
    return out;
  }

 private:
  const Setting& setting_;

 public:
  Desk desk;
  double now = 1'000'000;
  std::vector<std::string> journal;
  std::vector<DeskReply> replies;
  Books books;
  std::uint64_t answered = 0, undone = 0, exact = 0, aside = 0;

 private:
  std::uint64_t draw(std::uint64_t n) { return below(n, rng_); }
  std::string some_label() { return draw(40) == 0 ? "nonsense" : choices_[draw(choices_.size())]; }
  std::uint64_t position_ = 0;  // of the line judged last
  std::string some_task() { return "t" + std::to_string(draw(4)); }
  std::string some_lease() {
    if (given_.empty() || draw(50) == 0) return draw(2) == 0 ? "nonsense" : "7-x";
    return given_[draw(3) > 0 ? given_.size() - 1 - draw(std::min<std::uint64_t>(6, given_.size())) : draw(given_.size())];
  }
  Books::Asked* asked(std::uint64_t ticket) {
    const auto found = books.questions.find(ticket);
    return found == books.questions.end() ? nullptr : &found->second;
  }

  void post() {
    static const std::vector<std::string> words{"win", "money", "lunch", "noon", "prize", "see"};
    std::string text;
    for (int w = 0; w < 4; ++w) text += words[draw(words.size())] + " ";
    const std::string id = "m" + std::to_string(draw(600)), task = some_task();
    Json example{{"id", id}, {"task", task}, {"text", text}};
    if (draw(20) == 0) example["label"] = choices_[draw(choices_.size())];
    Json event{{"do", "examples"}};
    if (!desk.model().reduction.has_classes() && draw(4) == 0)  // judged by a worker
      event = {{"do", "shared"},
               {"source", "s" + std::to_string(draw(3))},
               {"read", 0},
               {"positions", {++position_}},
               {"probabilities", Json::array({draw(2) == 0 ? Json(nullptr) : Json(0.5)})}};
    const Json one = Json::parse(send(event, example.dump() + "\n").text())["examples"][0];
    if (one.contains("learned")) {
      std::erase_if(books.questions, [&](const auto& q) { return q.second.example == id && q.second.answers.empty(); });
      books.gifts.push_back({id, one["task"], example["label"].get<std::string>()});
    }
    if (one.contains("ticket")) books.questions[one["ticket"]] = {id, task, {}, {}, 0, {}, {}, {}};
  }

  /// A question with a new lease was given out.
  void leased(const Json& question, const std::string& who) {
    const std::string lease = question["lease"];
    Books::Asked& q = books.questions[question["ticket"]];
    q.example = question["example"];
    q.task = question["task"];
    q.lease = lease;
    q.holder = who;
    q.until = now + kLease;
    EXPECT_TRUE(books.leases.emplace(lease, question["ticket"].get<std::uint64_t>()).second)
        << "leases are never used twice";
    given_.push_back(lease);
  }

  void next(const std::string& who) {
    Json event{{"do", "next"}, {"annotator", who}};
    if (draw(3) == 0) event["hold"] = 6;
    const std::uint64_t today = books.today(who, now), held = books.held(who, now);
    const Json question = Json::parse(send(event).text())["question"];
    if (question.is_null()) return;
    EXPECT_LT(today, setting_.per_day);
    Books::Asked* q = asked(question["ticket"]);
    if (q != nullptr && q->lease == question["lease"].get<std::string>() && q->holder == who) {
      EXPECT_GE(q->until, now) << "one that is held already";
      return;
    }
    EXPECT_LT(today + held, setting_.per_day) << "it could not be answered";
    if (q != nullptr) {
      EXPECT_TRUE(q->holder.empty() || q->until < now) << "somebody else holds it";
      EXPECT_FALSE(q->has(who) || q->skipped.contains(who));
      EXPECT_LT(q->answers.size(), 2u);
    }
    leased(question, who);
  }

  void answer(const std::string& lease, const std::string& label) {
    const auto known = books.leases.find(lease);
    Books::Asked* q = known == books.leases.end() ? nullptr : asked(known->second);
    const DeskReply reply = send({{"do", "answer"}, {"lease", lease}, {"label", label}, {"seconds", 2}});
    if (q != nullptr)
      for (const Books::Answer& a : q->answers)
        if (a.lease == lease) {
          EXPECT_EQ(reply.verdict, a.label == label ? Verdict::kDone : Verdict::kConflict) << "a lease answers once";
          EXPECT_FALSE(reply.changed && setting_.desk.desk.hold == 0.0);
          return;
        }
    if (label == "nonsense" || q == nullptr || q->lease != lease) {
      EXPECT_FALSE(reply.done()) << reply.text();
      return;
    }
    const std::string who = q->holder;
    if (books.today(who, now) >= setting_.per_day) {
      EXPECT_TRUE(reply.verdict == Verdict::kConflict || reply.verdict == Verdict::kGone) << reply.text();
    } else if (reply.verdict != Verdict::kDone) {
      EXPECT_EQ(reply.verdict, Verdict::kGone) << reply.text();
      EXPECT_NE(desk.answers(known->second, "").verdict, Verdict::kDone) << "it is open and was refused";
      books.questions.erase(known->second);
    } else {
      given(known->second, {who, label, lease, now});
    }
  }

  void given(std::uint64_t ticket, const Books::Answer& a) {
    Books::Asked& q = books.questions.at(ticket);
    q.answers.push_back(a);
    const Json is = Json::parse(desk.answers(ticket, q.example).text());
    if (!q.lease.empty() && is.value("lease", Json()) == Json(q.lease)) {  // somebody is still asked for a second opinion
      EXPECT_EQ(q.answers.size(), 1u);
      EXPECT_NE(q.holder, a.annotator);
    } else {
      q.lease.clear();
      q.holder.clear();
    }
    books.order[a.annotator].push_back(ticket);
    books.times[a.annotator].insert(a.at);
    ++answered;
  }
  void taken_back(std::uint64_t ticket, const std::string& who) {
    Books::Asked& q = books.questions.at(ticket);
    q.settled.clear();
    std::erase_if(q.answers, [&](const Books::Answer& a) {
      if (a.annotator != who) return false;
      books.times[who].erase(books.times[who].find(a.at));
      return true;
    });
    std::erase(books.order[who], ticket);
    ++undone;
  }

  void skip(const std::string& lease) {
    const auto known = books.leases.find(lease);
    Books::Asked* q = known == books.leases.end() ? nullptr : asked(known->second);
    if (send({{"do", "skip"}, {"lease", lease}}).verdict != Verdict::kDone) return;
    ASSERT_TRUE(q != nullptr && q->lease == lease);
    q->skipped.insert(q->holder);
    q->lease.clear();
    q->holder.clear();
  }

  void undo(const std::string& who) {
    const DeskReply reply = send({{"do", "undo"}, {"annotator", who}});
    if (reply.verdict != Verdict::kDone) return;
    const Json body = Json::parse(reply.text());
    const std::uint64_t ticket = body["undone"]["ticket"];
    ASSERT_FALSE(books.order[who].empty());
    ASSERT_EQ(ticket, books.order[who].back()) << "the last answer";
    for (const Books::Answer& a : books.questions.at(ticket).answers)
      if (a.annotator == who) {
        EXPECT_EQ(a.label, body["undone"]["label"].get<std::string>());
      }
    taken_back(ticket, who);
    leased(body["question"], who);
  }

  void renew(const std::string& lease) {
    const auto known = books.leases.find(lease);
    Books::Asked* q = known == books.leases.end() ? nullptr : asked(known->second);
    if (send({{"do", "renew"}, {"lease", lease}}).verdict != Verdict::kDone) return;
    ASSERT_TRUE(q != nullptr && q->lease == lease);
    q->until = now + kLease;
  }

  void put(const std::string& who) {
    if (books.questions.empty()) return;
    auto at = books.questions.begin();
    std::advance(at, draw(books.questions.size()));
    const std::string example = at->second.example, source = "tool:" + std::to_string(draw(1000));
    const Json label = draw(4) == 0 ? Json(nullptr) : Json(choices_[draw(choices_.size())]);
    const bool withdrawn = desk.answers(at->first, "").verdict != Verdict::kDone;
    const DeskReply reply = send({{"do", "put"},
                                  {"ticket", at->first},
                                  {"example", example},
                                  {"annotator", who},
                                  {"label", label},
                                  {"source", source},
                                  {"holder", "tool"}});
    if (reply.verdict != Verdict::kDone) return;
    const std::uint64_t ticket = Json::parse(reply.text())["ticket"];
    if (ticket != at->first) {
      const Books::Asked moved = at->second;
      books.questions.erase(at);
      if (asked(ticket) == nullptr) books.questions[ticket] = {moved.example, moved.task, {}, {}, 0, {}, {}, {}};
    }
    Books::Asked& q = books.questions.at(ticket);
    if (!q.has(who)) {
      if (withdrawn) q.skipped.clear();  // a question of its own with that number
      if (!label.is_null()) given(ticket, {who, label, source, now});
      return;
    }
    Books::Answer& before =
        *std::find_if(q.answers.begin(), q.answers.end(), [&](const auto& a) { return a.annotator == who; });
    if (before.label == label) {
      before.lease = source;
      return;
    }
    taken_back(ticket, who);
    if (!label.is_null()) return given(ticket, {who, label, source, now});
    q.lease.clear();
    q.holder.clear();
    const DeskReply open = desk.answers(ticket, example);
    if (open.verdict != Verdict::kDone) {  // a gift, whose example is in the pool again
      books.questions.erase(ticket);
      return;
    }
    const Json now_held = Json::parse(open.text());
    EXPECT_EQ(now_held["holder"], "tool");
    leased({{"lease", now_held["lease"]}, {"ticket", ticket}, {"example", example}, {"task", q.task}}, "tool");
  }

  void decide() {
    if (books.questions.empty()) return;
    auto at = books.questions.begin();
    std::advance(at, draw(books.questions.size()));
    for (int n = 0; n < 50 && at->second.answers.size() < 2; ++n)
      if (++at == books.questions.end()) at = books.questions.begin();
    const std::string label = choices_[draw(choices_.size())];
    if (send({{"do", "decide"}, {"ticket", at->first}, {"label", label}}).verdict != Verdict::kDone) return;
    EXPECT_EQ(at->second.answers.size(), 2u);
    at->second.settled = label;
  }

  void seldom() {
    switch (draw(4)) {
      case 0: {
        const std::string task = some_task();
        if (send({{"do", "forget_task"}, {"task", task}}).verdict != Verdict::kDone) return;
        std::erase_if(books.questions, [&](const auto& q) { return q.second.task == task; });
        std::erase_if(books.gifts, [&](const auto& gift) { return gift.task == task; });
        break;
      }
      case 1: {
        const std::string id = "m" + std::to_string(draw(600));
        if (send({{"do", "forget_example"}, {"example", id}}).verdict != Verdict::kDone) return;
        std::erase_if(books.questions, [&](const auto& q) { return q.second.example == id; });
        std::erase_if(books.gifts, [&](const auto& gift) { return gift.example == id; });
        break;
      }
      case 2:
        send({{"do", "limits"}, {"labels", draw(3) == 0 ? Json(nullptr) : Json(draw(300))}, {"audits", draw(2) == 0}});
        std::erase_if(books.questions, [&](const auto& q) {  // those that were withdrawn
          return q.second.answers.empty() && desk.answers(q.first, "").verdict != Verdict::kDone;
        });
        break;
      default:
        send({{"do", "tick"}});
    }
    for (auto& [who, tickets] : books.order)
      std::erase_if(tickets,
                    [&, who = who](std::uint64_t ticket) { return asked(ticket) == nullptr || !asked(ticket)->has(who); });
  }

  /// An answer and its undo leave the model of a rebuild without it, to the bit.
  void undo_is_exact(const std::string& who) {
    const DeskReply reply = send({{"do", "next"}, {"annotator", who}});
    const Json question = Json::parse(reply.text())["question"];
    if (question.is_null()) return;
    const std::uint64_t ticket = question["ticket"].get<std::uint64_t>();
    if (asked(ticket) == nullptr || asked(ticket)->lease != question["lease"].get<std::string>()) leased(question, who);
    const Session& session = desk.model().session;
    const bool answers_learn = session.capabilities().rebuilds && setting_.desk.desk.hold.value_or(0) == 0,
               first = asked(ticket)->answers.empty();
    Model without = Model::from_bytes(desk.model().to_bytes());
    const std::uint64_t before = answered;
    answer(question["lease"].get<std::string>(), choices_[draw(choices_.size())]);
    if (answered == before) return;
    const std::uint64_t times = undone;
    undo(who);
    if (undone == times || !first) return;  // an audit, or an opinion, which is not learned from
    if (answers_learn) without.session.rebuild();
    const Desk expected(setting_.desk, std::move(without), desk.save());
    const std::string probes =
        "{\"task\":\"t0\",\"text\":\"win money\"}\n{\"task\":\"t1\",\"text\":\"lunch "
        "noon\"}\n{\"task\":\"t9\",\"text\":\"see prize\"}\n";
    EXPECT_EQ(desk.predict(probes).text(), expected.predict(probes).text());
    ++exact;
  }

  Rng rng_;
  std::vector<std::string> choices_, given_;
  std::vector<double> answered_at_;  // each label bought
};

class RandomDesk : public testing::TestWithParam<std::size_t> {};

TEST_P(RandomDesk, DoesWhatTheBooksSay) {
  const char* wanted = std::getenv("QUORATE_DESK_EVENTS");
  const int events = wanted != nullptr ? std::atoi(wanted) : 1'000;
  const Setting setting = all_settings()[GetParam()];
  SCOPED_TRACE(setting.name);
  RandomOffice o(setting, GetParam() + 1);
  std::string model, state;
  std::size_t snapshot = 0;
  for (int n = 0; n < events; ++n) {
    o.step();
    if (n % 40 == 0) o.compare();
    if (testing::Test::HasFailure()) FAIL() << "event " << n << ": " << o.journal.back();
    if (n == events / 2) {
      model = o.desk.model().to_bytes();
      state = o.desk.save();
      snapshot = o.journal.size();
    }
  }
  o.compare();
  EXPECT_GT(o.answered, 40u);
  EXPECT_GT(o.undone, 3u);
  const Desk again = o.replayed(0, Desk(setting.desk));
  EXPECT_EQ(again.model().to_bytes(), o.desk.model().to_bytes());
  EXPECT_EQ(again.save(), o.desk.save());
  const Desk tail = o.replayed(snapshot, Desk(setting.desk, Model::from_bytes(model), state));
  EXPECT_EQ(tail.model().to_bytes(), o.desk.model().to_bytes());
  EXPECT_EQ(tail.save(), o.desk.save());
}

INSTANTIATE_TEST_SUITE_P(Desk, RandomDesk, testing::Range(std::size_t{0}, all_settings().size()));

}  // namespace
}  // namespace quorate
