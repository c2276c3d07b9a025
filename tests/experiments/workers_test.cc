#include "quorate/experiments/workers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "support/office.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

/// Emails of users: spam has other words than ham, and some in common.
std::string emails(int count, std::size_t users = 4) {
  Rng rng = make_rng(7, 0);
  std::string out;
  for (int n = 0; n < count; ++n) {
    const bool spam = below(2, rng) == 0;
    std::string text;
    for (int k = 0; k < 4; ++k) text += word(static_cast<int>(below(60, rng)) + (spam ? 0 : 30)) + " ";
    out += Json{{"id", "same"},
                {"task", "t" + std::to_string(below(users, rng))},
                {"text", text},
                {"label", spam ? "spam" : "ham"}}
               .dump() +
           "\n";
  }
  return out;
}
DeskExamples examples(const std::string& lines, const ReadOptions& options = {}) {
  const TempDir dir;
  DeskExamples out({}, "spam");
  out.read(dir.write("a.jsonl", lines), options);
  return out;
}
SimulateOptions a_third_unseen(const std::string& learner, std::vector<std::string> labels = {}) {
  SimulateOptions out;
  out.learner = parse_spec(learner);
  out.learning.labels = std::move(labels);
  out.test_share = 0.3;
  return out;
}
/// Every number of all runs.
std::vector<std::vector<double>> numbers_of(const WorkersResult& result) {
  std::vector<std::vector<double>> out;
  for (const auto& runs : {result.one_desk, result.with_workers})
    for (const WorkersRun& run : runs) {
      out.emplace_back();
      for (const auto& [name, value] : measures(run)) out.back().push_back(value);
      out.back().push_back(static_cast<double>(run.model));
      out.back().push_back(static_cast<double>(run.seed));
    }
  return out;
}

TEST(Workers, TheNumberOfThreadsNeverShows) {
  const DeskExamples data = examples(emails(300));
  SimulateOptions o = a_third_unseen("cohort", {"40"});
  o.runs = 3;
  o.delay.mean = 20;
  const WorkersResult one = simulate_workers(data, o, {.workers = 4});
  o.threads = 8;
  EXPECT_EQ(numbers_of(one), numbers_of(simulate_workers(data, o, {.workers = 4})));
  ASSERT_EQ(one.with_workers.size(), 3u);
  EXPECT_EQ(one.with_workers[2].seed, 3u);
  EXPECT_NE(one.with_workers[0].model, one.with_workers[1].model) << "another split";
  EXPECT_EQ(one.examples, 210u);
  EXPECT_EQ(one.tasks, 4u);
}

TEST(Workers, TheLabelBudgetHoldsHoweverLateTheLogIs) {
  const DeskExamples data = examples(emails(300));
  for (const std::uint64_t delay : {0U, 30U, 1000U}) {
    SimulateOptions o = a_third_unseen("cohort(query=always)", {"20"});
    o.delay.mean = static_cast<double>(delay);
    const WorkersResult all = simulate_workers(data, o, {.workers = 8});
    EXPECT_EQ(all.one_desk[0].labels, 20u);
    EXPECT_EQ(all.with_workers[0].labels, 20u);
    if (delay > 0) {
      EXPECT_GT(all.with_workers[0].refused, 8u) << "asked before it was known that all labels are bought";
    }
    o.learning.labels = {};
    o.learning.labels_per_task = 3;
    EXPECT_EQ(simulate_workers(data, o, {.workers = 8}).with_workers[0].labels, 12u) << "4 tasks";
  }
}

TEST(Workers, WithoutDelayTheModelDoesNotDependOnTheirNumber) {
  const DeskExamples data = examples(emails(300));
  // Rules that draw differ: a worker's draws depend on its name and on the position in its own stream.
  for (const std::string learner : {"cohort(query=always)", "cohort(query=always, guess=0)", "perceptron"}) {
    std::set<std::uint64_t> models;
    for (const std::uint64_t workers : {1U, 4U, 16U}) {
      const WorkersResult result = simulate_workers(data, a_third_unseen(learner, {"100"}), {.workers = workers});
      models.insert(result.with_workers[0].model);
      EXPECT_EQ(result.with_workers[0].labels, 100u) << learner;
    }
    EXPECT_EQ(models.size(), 1u) << learner;
  }
}

TEST(Workers, OneDeskIsASimulatedLearner) {
  const TempDir dir;
  const std::string path = dir.write("a.jsonl", emails(400, 1));  // simulate() knows all tasks from the start
  DeskExamples lines({}, "spam");
  lines.read(path, {});
  ExperimentData data({}, "spam");
  data.read(path, {}, data.train);
  data.finish();
  for (const bool even : {false, true}) {
    SimulateOptions o = a_third_unseen("cohort", {"15%"});  // from 50 labels on a desk withdraws pointless questions
    if (even) o.learning.pace = PaceRule::kEven;
    o.runs = 2;
    const WorkersResult workers = simulate_workers(lines, o, {});
    const SimulateResult simulated = data.simulate(o);
    for (std::size_t r = 0; r < o.runs; ++r) {
      EXPECT_EQ(workers.one_desk[r].test.accuracy, simulated.runs[r].all.test.accuracy);
      EXPECT_EQ(workers.one_desk[r].test.auc, simulated.runs[r].all.test.auc);
      EXPECT_EQ(workers.one_desk[r].labels, simulated.runs[r].all.labels);
      EXPECT_EQ(workers.one_desk[r].shared, workers.examples);
    }
  }
}

TEST(Workers, OneWithoutDelayIsCloseToOneDesk) {
  const DeskExamples data = examples(emails(700));
  SimulateOptions o = a_third_unseen("cohort", {"60"});
  o.runs = 4;
  const WorkersCompared accuracy = compared(simulate_workers(data, o, {}), "accuracy");
  EXPECT_GT(accuracy.one_desk, 0.85);
  EXPECT_NEAR(accuracy.difference, 0, 0.03);
  EXPECT_NEAR(accuracy.with_workers - accuracy.one_desk, accuracy.difference, 1e-12);
  EXPECT_GT(accuracy.error, 0);
}

TEST(Workers, JudgeClassesOfUsers) {
  Rng rng = make_rng(11, 0);
  std::string lines;
  for (int n = 0; n < 600; ++n) {
    const std::size_t topic = below(3, rng);
    std::string text;
    for (int k = 0; k < 4; ++k) text += word(static_cast<int>(below(40, rng) + 20 * topic)) + " ";
    lines +=
        Json{{"task", "u" + std::to_string(below(3, rng))}, {"text", text}, {"label", std::string("abc").substr(topic, 1)}}
            .dump() +
        "\n";
  }
  const TempDir dir;
  const std::string path = dir.write("a.jsonl", lines);
  for (const auto kind : {Reduction::Kind::kOneVsRest, Reduction::Kind::kOneVsOne}) {
    DeskExamples data({}, "", kind);
    data.read(path, {});
    SimulateOptions o = a_third_unseen("cohort", {"150"});
    o.runs = 3;
    for (const std::uint64_t delay : {0U, 20U}) {
      o.delay.mean = static_cast<double>(delay);
      const WorkersResult result = simulate_workers(data, o, {.workers = 4});
      const WorkersCompared accuracy = compared(result, "accuracy");
      EXPECT_GT(accuracy.one_desk, 0.7);
      EXPECT_NEAR(accuracy.difference, 0, 0.12) << delay;
      for (const WorkersRun& run : result.with_workers) EXPECT_LE(run.labels, 150u);
    }
    o.train_per_task = 20;
    o.test_share = 0;
    EXPECT_THROW(simulate_workers(data, o, {.workers = 4}), UsageError);
  }
}

TEST(Workers, SendFewExamplesThatTheyDoNotAskAbout) {
  const DeskExamples data = examples(emails(700));
  const SimulateOptions o = a_third_unseen("cohort", {"0"});
  EXPECT_EQ(simulate_workers(data, o, {.workers = 4, .share_examples = 0}).with_workers[0].shared, 200u) << "the first";
  EXPECT_EQ(simulate_workers(data, o, {.workers = 4, .share_examples = 300}).with_workers[0].shared, 300u);
  SimulateOptions late = o;
  late.delay.mean = 1000;
  EXPECT_EQ(simulate_workers(data, late, {.workers = 1}).with_workers[0].shared, 200u) << "sent again, counted once";
}

TEST(Workers, TakeWhatIsToBeTestedOnFromAnotherFileOrFromEachTask) {
  const TempDir dir;
  DeskExamples data({}, "spam");
  data.read(dir.write("a.jsonl", emails(200)), {});
  SimulateOptions o = a_third_unseen("cohort");
  o.test_share = 0;
  o.train_per_task = 20;
  EXPECT_EQ(simulate_workers(data, o, {.workers = 3}).one_desk[0].shared, 80u);
  o.train_per_task = 0;
  EXPECT_THROW(simulate_workers(data, o, {}), UsageError) << "nothing to test on";
  std::string more = emails(50);
  more += "{\"task\":\"new\",\"text\":\"abc\"}\n{\"task\":\"new\",\"text\":\"abc\",\"label\":\"ham\"}\n";
  data.read(dir.write("b.jsonl", more), {}, true);
  EXPECT_EQ(data.to_learn(), 200u);
  EXPECT_EQ(data.size(), 252u);
  const WorkersResult result = simulate_workers(data, o, {.workers = 3});
  EXPECT_EQ(result.one_desk[0].shared, 200u);
  EXPECT_NEAR(std::fmod(result.one_desk[0].test.accuracy * 51 + 1e-9, 1.0), 0, 1e-6) << "one has no label";
  o.in_order = true;
  EXPECT_NE(simulate_workers(data, o, {.workers = 3}).one_desk[0].model, result.one_desk[0].model);
}

TEST(DeskExamples, AreLinesWithoutLabelAndWithAnIdOfTheirOwn) {
  const TempDir dir;
  DeskExamples data;
  data.read(dir.write("a.csv", "id,task,label,time,n,text\nx,u,1,5,0.5,\"a, b\"\nx,v,-1,6,2,c\n"), {});
  EXPECT_EQ(data.line(0), "{\"id\":\"0\",\"task\":\"u\",\"text\":\"a, b\",\"x\":{\"time\":5,\"n\":0.5}}\n");
  EXPECT_EQ(Json::parse(data.line(1))["id"], "1");
  EXPECT_EQ(data.label(1), Label(kNo));
  EXPECT_EQ(data.tasks[data.task(1)], "v");
}

TEST(DeskExamples, HaveAllFeaturesWhereTheFirstHasFewer) {
  const DeskExamples data = examples(
      "{\"text\":\"a\",\"label\":\"spam\"}\n{\"text\":\"b\",\"label\":\"ham\",\"n\":2}\n"
      "{\"text\":\"c \\\"x\\\":{}\",\"label\":\"ham\"}\n");
  EXPECT_EQ(data.line(0), "{\"id\":\"0\",\"text\":\"a\",\"x\":{}}\n");
  EXPECT_EQ(data.line(1), "{\"id\":\"1\",\"text\":\"b\",\"x\":{\"n\":2}}\n");
  EXPECT_EQ(Json::parse(data.line(2))["x"].size(), 0u);
}

TEST(DeskExamples, WeightsReachTheDesk) {
  ReadOptions weighed;
  weighed.weight = "w";
  std::string lines;
  for (int n = 0; n < 40; ++n)
    lines += Json{{"text", word(n % 3)}, {"label", n % 2 ? "spam" : "ham"}, {"w", n % 4 + 1}}.dump() + "\n";
  ReadOptions not_weighed;
  not_weighed.ignore = {"w"};
  const SimulateOptions o = a_third_unseen("cohort(query=always)");
  EXPECT_NE(simulate_workers(examples(lines, weighed), o, {}).one_desk[0].model,
            simulate_workers(examples(lines, not_weighed), o, {}).one_desk[0].model);
}

TEST(DeskExamples, NeedALabelEach) {
  try {
    examples("{\"text\":\"a\",\"label\":\"spam\"}\n{\"text\":\"b\"}\n");
    ADD_FAILURE();
  } catch (const DataError& e) {
    EXPECT_THAT(e.what(), HasSubstr("a.jsonl: 1 example of 2 without a label"));
  }
  ReadOptions skip;
  skip.skip_bad_lines = true;
  const TempDir dir;
  DeskExamples data;
  const auto skipped = data.read(dir.write("a.jsonl", "{\"text\":\"a\",\"label\":1}\n{\"text\":\"b\",\"label\":7}\n"), skip);
  EXPECT_EQ(skipped.lines, 1u);
  EXPECT_THAT(skipped.first, HasSubstr("label '7'"));
  EXPECT_EQ(data.size(), 1u);
}

TEST(Workers, RefuseWhatTheyCannotFollow) {
  const SimulateOptions fine = a_third_unseen("cohort");
  check_workers(fine);
  const auto refused = [&](auto change) {
    SimulateOptions o = fine;
    change(o);
    EXPECT_THROW(check_workers(o), UsageError);
  };
  refused([](auto& o) { o.passes = 2; });
  refused([](auto& o) { o.share = 0.5; });
  refused([](auto& o) { o.folds = 3; });
  refused([](auto& o) { o.delay.lost = 0.1; });
  refused([](auto& o) { o.delay = parse_delay("lognormal(5)"); });
  refused([](auto& o) { o.learning.audit = 0.1; });
  refused([](auto& o) { o.learning.labels = {"5/100"}; });
  refused([](auto& o) { o.learning.labels = {"5/day"}; });
  refused([](auto& o) { o.learner = parse_spec("shampo"); });
  refused([](auto& o) { o.learner = parse_spec("peer"); });
  refused([](auto& o) { o.per_task = true; });
  refused([](auto& o) { o.learning.pace = PaceRule::kEven; });  // of no labels
}

TEST(Workers, AreStoppedAndSayHowFarTheyAre) {
  const DeskExamples data = examples(emails(100));
  SimulateOptions o = a_third_unseen("cohort");
  std::atomic<std::uint64_t> progress = 0;
  o.progress = &progress;
  o.runs = 2;
  simulate_workers(data, o, {});
  EXPECT_EQ(progress, 280u);
  std::stop_source stop;
  stop.request_stop();
  o.stop = stop.get_token();
  EXPECT_TRUE(simulate_workers(data, o, {}).interrupted);
}

TEST(Workers, TheDocumentHasEveryRunAndTheDifferences) {
  const DeskExamples data = examples(emails(100));
  SimulateOptions o = a_third_unseen("cohort", {"50%"});
  o.runs = 2;
  o.delay.mean = 5;
  const auto out = document(simulate_workers(data, o, {.workers = 2}));
  EXPECT_EQ(out["workers"], 2);
  EXPECT_EQ(out["delay"], 5);
  EXPECT_EQ(out["share_examples"], 64);
  EXPECT_EQ(out["limits"]["total"], 35);
  ASSERT_EQ(out["runs"].size(), 2u);
  const double a = out["runs"][0]["with_workers"]["auc"].get<double>() - out["runs"][0]["one_desk"]["auc"].get<double>(),
               b = out["runs"][1]["with_workers"]["auc"].get<double>() - out["runs"][1]["one_desk"]["auc"].get<double>();
  EXPECT_NEAR(out["difference"]["auc"]["mean"].get<double>(), (a + b) / 2, 1e-12);
  EXPECT_NEAR(out["difference"]["auc"]["standard_error"].get<double>(), std::abs(a - b) / 2, 1e-12);
}

}  // namespace
}  // namespace quorate::test
