#include "quorate/share/worker.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "quorate/base/rng.h"
#include "quorate/share/replica.h"
#include "support/office.h"

namespace quorate {
namespace {

using test::Json;

/// A desk, workers with a replica each, and an annotator, who knows every answer.
class Fleet {
 public:
  Fleet(DeskSettings settings, std::size_t workers, WorkerOptions options = {}) : desk_(settings) {
    const std::string moment = DeskMoment{"log", 0, settings.to_json()}.text();
    for (std::size_t w = 0; w < workers; ++w) {
      options.source = "w" + std::to_string(w);
      workers_.push_back({Worker(options), Replica(moment)});
    }
    exchange(0);
  }

  /// Examples to workers at random; `lag`: between two times that they send and follow.
  void run(std::size_t examples, std::size_t lag = 1, double lost = 0) {
    for (std::size_t n = 0; n < examples; ++n, ++made_) {
      One& w = workers_[below(workers_.size(), rng_)];
      const bool spam = below(2, rng_) == 0;
      const std::string line = Json{{"id", (spam ? "s" : "h") + std::to_string(made_)},
                                    {"task", "t" + std::to_string(below(4, rng_))},
                                    {"text", test::word(static_cast<int>(below(30, rng_)) + (spam ? 0 : 20)) + " " +
                                                 test::word(static_cast<int>(below(30, rng_)) + (spam ? 0 : 20))}}
                                   .dump() +
                               "\n";
      std::string out;
      w.worker.judge(w.replica.desk(), line, out);
      w.worker.wrote();
      const Json said = Json::parse(out);
      asks_ += said["asked"].get<bool>();
      right_ += (said["label"] == "spam") == spam;
      if (n % lag == 0) exchange(lost);
      if (n % 5 == 4) answer();
    }
    for (int i = 0; i < 3; ++i) exchange(0);
  }
  void answer() {
    const Json question = event({{"do", "next"}, {"annotator", "ann"}})["question"];
    if (question.is_null()) return;
    const bool spam = question["example"].get<std::string>()[0] == 's';
    event({{"do", "answer"}, {"lease", question["lease"]}, {"label", spam ? "spam" : "ham"}});
  }
  /// Everybody sends, and then follows. lost: how often a reply does not arrive, so that the same is sent again.
  void exchange(double lost) {
    for (One& w : workers_) {
      std::string lines;
      auto shared = w.worker.to_send(w.replica.desk(), 100, lines);
      if (!shared) continue;
      const std::string record = to_record({++now_, *shared});
      apply(record);
      if (uniform(rng_) < lost) apply(record);
    }
    for (One& w : workers_)
      if (uniform(rng_) >= lost) w.replica.apply(log_from(w.replica.next()));
  }
  std::string log_from(std::uint64_t from) const {
    std::string out;
    for (; from < log_.size(); ++from) add_to_log(out, from, log_[from]);
    return out;
  }
  DeskReply apply(const std::string& record) {
    DeskReply reply = desk_.apply(record);
    if (reply.changed) log_.push_back(with_result(record, reply.was));
    return reply;
  }
  Json event(Json one) {
    one["at"] = ++now_;
    return Json::parse(apply(one.dump()).text());
  }
  void expect_equal() const {
    for (const One& w : workers_) {
      EXPECT_EQ(test::model_of(w.replica.desk()), test::model_of(desk_));
      EXPECT_EQ(w.replica.desk().save(), desk_.save());
    }
  }
  std::uint64_t bought() const { return desk_.figures().bought; }

  struct One {
    Worker worker;
    Replica replica;
  };
  Desk desk_;
  std::vector<One> workers_;
  std::vector<std::string> log_;
  Rng rng_ = make_rng(1, 0);
  double now_ = 1'000'000;
  std::size_t made_ = 0, asks_ = 0, right_ = 0;
};

DeskSettings of(std::vector<std::string> labels, const std::string& learner = "cohort") {
  DeskSettings out = test::spam(std::move(labels));
  out.learner = learner;
  return out;
}

TEST(Worker, LearnsFromTheLabelsOfAll) {
  for (const std::size_t workers : {1U, 4U, 16U}) {
    Fleet fleet(of({"80"}), workers);
    fleet.run(1500);
    fleet.expect_equal();
    EXPECT_EQ(fleet.bought(), 80U) << workers;
    const std::size_t before = fleet.right_;
    fleet.run(500);
    EXPECT_GT(fleet.right_ - before, 400U) << workers;
  }
}

TEST(Worker, CountsOnceWhatIsSentAgain) {
  Fleet fleet(of({"60"}), 4);
  fleet.run(800, 7, 0.5);
  fleet.expect_equal();
  std::uint64_t read = 0;
  for (const auto& [name, source] : fleet.desk_.sources()) read += source.read;
  EXPECT_EQ(read, 800U);
  EXPECT_LE(fleet.desk_.posted(), 800U);
  EXPECT_LE(fleet.bought(), 60U);
}

TEST(Worker, NeverSpendsMoreThanTheLabels) {
  auto settings = of({"20"}, "cohort(query=always)");
  settings.desk.open = 100'000;
  Fleet fleet(settings, 8);
  fleet.run(400, 100);
  for (int n = 0; n < 100; ++n) fleet.answer();
  EXPECT_GT(fleet.asks_, 100U) << "asked before anybody knew that the labels are spent";
  EXPECT_EQ(fleet.bought(), 20U);
}

TEST(Worker, SharesTheFirstExamplesAndSomeForEachLabel) {
  Fleet none(of({"0"}), 4, {.share_examples = 0, .first_examples = 0});
  none.run(300);
  EXPECT_EQ(none.desk_.posted(), 0U);
  EXPECT_EQ(none.desk_.examples_of_all(), 300U) << "the clock is that of all examples";
  Fleet first(of({"0"}), 4, {.share_examples = 0, .first_examples = 50});
  first.run(300);
  EXPECT_EQ(first.desk_.posted(), 50U);
  Fleet some(of({"0"}), 1, {.share_examples = 64, .first_examples = 0});
  some.run(300);
  EXPECT_EQ(some.desk_.posted(), 64U);
}

TEST(Worker, SpendsEvenlyByTheClockOfAll) {
  auto settings = of({"100"}, "cohort(query=margin(b=1))");
  settings.learning.pace = PaceRule::kEven;
  settings.learning.length = 2000;
  settings.desk.pool = 0;  // from which an annotator with time is asked, whatever the pace
  Fleet fleet(settings, 4);
  fleet.run(1000);
  const std::size_t half = fleet.asks_;
  EXPECT_NEAR(static_cast<double>(half), 50, 20);
  fleet.run(1000);
  EXPECT_NEAR(static_cast<double>(fleet.bought()), 100, 12);
}

TEST(Worker, SpendsEvenlyFromTheFirstExampleThoughTheLogIsLate) {
  auto settings = of({"100"}, "cohort(query=margin(b=1))");
  settings.learning.pace = PaceRule::kEven;
  settings.learning.length = 2000;
  settings.desk.pool = 0;
  Fleet fleet(settings, 16);
  fleet.run(100, 100);
  EXPECT_LE(fleet.bought() + fleet.desk_.open_questions(), 20U);
}

TEST(Worker, GoesOnAfterWhatTheDeskKnowsToBeJudged) {
  Fleet fleet(of({"30"}), 1);
  fleet.run(100);
  Worker again({.source = "w0"});
  EXPECT_EQ(again.next(fleet.workers_[0].replica.desk()), 100U);
  std::string out;
  again.judge(fleet.workers_[0].replica.desk(),
              R"({"id":"x","text":"a b"})"
              "\n",
              out);
  EXPECT_EQ(Json::parse(out)["position"], 100U);
}

TEST(Worker, NothingIsPassedOverThatWasNotSent) {
  Fleet fleet(of({"1000"}, "cohort(query=always)"), 1);
  Fleet::One& w = fleet.workers_[0];
  std::string out, lines;
  for (int n = 0; n < 30; ++n)
    w.worker.judge(w.replica.desk(), Json{{"id", std::to_string(n)}, {"text", "a b"}}.dump() + "\n", out);
  const auto unwritten = w.worker.to_send(w.replica.desk(), 10, lines);
  EXPECT_TRUE(!unwritten || unwritten->read == 0) << "a prediction that is not out may be lost";
  w.worker.wrote();
  fleet.apply(to_record({1, *w.worker.to_send(w.replica.desk(), 10, lines)}));
  w.replica.apply(fleet.log_from(w.replica.next()));
  EXPECT_EQ(fleet.desk_.sources().at("w0").read, 10U);
  Worker again({.source = "w0"});
  EXPECT_EQ(again.next(w.replica.desk()), 10U) << "the other twenty are judged again";
}

TEST(Worker, UndoAndForgettingReachEveryReplica) {
  Fleet fleet(of({"60"}), 3);
  fleet.run(300, 3);
  fleet.event({{"do", "undo"}, {"annotator", "ann"}});
  fleet.run(100, 3);
  fleet.event({{"do", "forget_task"}, {"task", "t1"}});
  fleet.run(100, 3);
  fleet.expect_equal();
}

TEST(Worker, PredictsAndAsksNoMoreWhileItsQueueIsFull) {
  Fleet fleet(of({"1000"}), 1);
  Fleet::One& w = fleet.workers_[0];
  Worker worker({.source = "w9", .queue = 30});
  std::string out;
  for (int n = 0; n < 400; ++n) {
    EXPECT_EQ(
        worker.judge(w.replica.desk(), Json{{"id", std::to_string(n)}, {"text", test::word(n % 9)}}.dump() + "\n", out), 0U);
    EXPECT_FALSE(worker.make_room(w.replica.desk()));
    EXPECT_LE(worker.waiting(w.replica.desk()), 30U);
  }
  const auto count = [&](std::string_view part) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = out.find(part, at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(count("\n"), 400U) << "a prediction for each line";
  EXPECT_EQ(count("\"asked\":true"), 30U) << "questions push out the rest, and stay";
}

TEST(Worker, KeepsLinesWithALabel) {
  Fleet fleet(of({"0"}), 1);
  Fleet::One& w = fleet.workers_[0];
  Worker worker({.source = "w9", .queue = 1});
  std::string out;
  for (int n = 0; n < 2; ++n) worker.judge(w.replica.desk(), "{\"text\":\"x y\",\"label\":\"spam\"}\n", out);
  EXPECT_TRUE(worker.make_room(w.replica.desk())) << "its caller waits";
  EXPECT_EQ(worker.waiting(w.replica.desk()), 2U);
}

TEST(Worker, CountsLinesThatCannotBeUsed) {
  Fleet fleet(of({"10"}), 1);
  Fleet::One& w = fleet.workers_[0];
  std::string out;
  EXPECT_EQ(w.worker.judge(w.replica.desk(), "text,label\n{\"text\":\"a b\"}\n1,2\n", out), 2U);
  EXPECT_EQ(w.worker.next(w.replica.desk()), 3U);
}

TEST(Worker, DoesNotPassALastLineThatIsStillWritten) {
  Fleet fleet(of({"10"}), 1);
  Fleet::One& w = fleet.workers_[0];
  std::string out;
  EXPECT_EQ(w.worker.judge(w.replica.desk(), "{\"text\":\"a b\"}\n{\"text\":", out), 1U);
  EXPECT_EQ(w.worker.next(w.replica.desk()), 1U);
  EXPECT_EQ(w.worker.judge(w.replica.desk(), "{\"text\":\"c d\"}", out), 0U);
  EXPECT_EQ(w.worker.next(w.replica.desk()), 2U);
}

TEST(Worker, SaysWhatTheDeskWouldRefuse) {
  Fleet fleet(of({"10"}), 1);
  Fleet::One& w = fleet.workers_[0];
  std::string out;
  const std::string lines = Json{{"text", "a b"}, {"label", "Spam"}}.dump() + "\n" +
                            Json{{"text", "a b"}, {"label", "spam"}}.dump() + "\n" +
                            Json{{"text", "a b"}, {"id", std::string(5000, 'x')}}.dump() + "\n";
  EXPECT_EQ(w.worker.judge(w.replica.desk(), lines, out), 2U);
  EXPECT_NE(out.find("label 'Spam': expected one of"), out.npos) << out;
  EXPECT_NE(out.find("id of 5000 bytes: expected at most"), out.npos) << out;
}

TEST(Worker, NoticesAnotherOfTheSameSource) {
  Fleet fleet(of({"10"}), 1);
  fleet.run(20);
  Worker other({.source = "w0"});
  std::string out;
  other.judge(fleet.workers_[0].replica.desk(), "{\"text\":\"a b\"}\n", out);
  fleet.run(20);
  EXPECT_THROW(other.judge(fleet.workers_[0].replica.desk(), "{\"text\":\"a b\"}\n", out), Refused);
}

TEST(Worker, RefusesAuditsAndRatesOfExamples) {
  for (const char* labels : {"5/100", "100"}) {
    auto settings = of({labels});
    if (std::string(labels) == "100") settings.learning.audit = 0.2;
    const Replica replica(DeskMoment{"log", 0, settings.to_json()}.text());
    std::string out;
    EXPECT_THROW(Worker({.source = "w"}).judge(replica.desk(), "{}\n", out), Refused) << labels;
  }
}

TEST(Worker, JudgesClassesForEachUser) {
  for (const char* reduction : {"one-vs-rest", "one-vs-one"}) {
    DeskSettings settings;
    settings.classes = {"art", "news", "sport"};
    settings.reduction = reduction;
    settings.learning.labels = {"90"};
    settings.desk.pool = 0;
    Fleet fleet(settings, 3);
    std::size_t right = 0, asked = 0;
    for (std::size_t n = 0; n < 900; ++n) {
      Fleet::One& w = fleet.workers_[below(3, fleet.rng_)];
      const std::size_t topic = below(3, fleet.rng_);
      const auto word = [&] { return test::word(static_cast<int>(10 * topic + below(12, fleet.rng_))); };
      const std::string line = Json{{"id", settings.classes[topic] + std::to_string(n)},
                                    {"task", "u" + std::to_string(below(4, fleet.rng_))},
                                    {"text", word() + " " + word() + " " + word()}}
                                   .dump() +
                               "\n";
      std::string out;
      ASSERT_EQ(w.worker.judge(w.replica.desk(), line, out), 0U) << out;
      w.worker.wrote();
      const Json said = Json::parse(out);
      asked += said["asked"].get<bool>();
      if (n >= 600) right += said["label"] == settings.classes[topic];
      if (n % 3 == 0) fleet.exchange(0.1);
      for (int times = 0; times < 2; ++times) {
        const Json question = fleet.event({{"do", "next"}, {"annotator", "ann"}})["question"];
        if (question.is_null()) break;
        const std::string id = question["example"];
        fleet.event(
            {{"do", "answer"}, {"lease", question["lease"]}, {"label", id.substr(0, id.find_first_of("0123456789"))}});
      }
    }
    for (int i = 0; i < 4; ++i) fleet.exchange(0);
    fleet.expect_equal();
    EXPECT_GT(asked, 20U) << reduction;
    EXPECT_LE(fleet.bought(), 90U);
    EXPECT_GT(fleet.bought(), 40U) << reduction;
    EXPECT_GT(right, 240U) << reduction;
    EXPECT_EQ(fleet.desk_.examples_of_all(), 900U);
  }
}

TEST(Worker, LinesWhosePredictionsAreNotOutAreJudgedAgain) {
  Fleet fleet(of({"100"}, "cohort(query=always)"), 1);
  Fleet::One& w = fleet.workers_[0];
  const auto judge = [&](int n) {
    std::string out;
    w.worker.judge(w.replica.desk(), Json{{"id", "s" + std::to_string(n)}, {"text", test::word(n)}}.dump() + "\n", out);
  };
  judge(0);
  w.worker.wrote();
  judge(1);
  judge(2);
  w.worker.give_up();
  for (int n = 0; n < 3; ++n) fleet.exchange(0);
  EXPECT_TRUE(w.worker.done(w.replica.desk()));
  EXPECT_EQ(fleet.desk_.examples_of_all(), 1U);
  EXPECT_EQ(w.worker.next(w.replica.desk()), 1U);
  judge(1);
  w.worker.wrote();
  for (int n = 0; n < 3; ++n) fleet.exchange(0);
  EXPECT_EQ(fleet.desk_.examples_of_all(), 2U);
  EXPECT_EQ(fleet.desk_.open_questions(), 2U);
}

TEST(Worker, SaysWhichLinesAreBad) {
  Fleet fleet(of({"10"}), 1);
  Fleet::One& w = fleet.workers_[0];
  std::string out;
  w.worker.judge(w.replica.desk(), "{broken\n{\"text\":\"a b\"}\n", out);
  const auto end = out.find('\n');
  EXPECT_TRUE(Json::parse(out.substr(0, end)).contains("error")) << out;
  EXPECT_EQ(Json::parse(out.substr(end + 1))["position"], 1U) << out;
}

TEST(Worker, RefusesADeskThatItCannotFollow) {
  const Replica replica(DeskMoment{"log", 0, of({"10"}, "peer").to_json()}.text());
  std::string out;
  EXPECT_THROW(Worker({.source = "w"}).judge(replica.desk(), "{}\n", out), Refused);
}

}  // namespace
}  // namespace quorate
