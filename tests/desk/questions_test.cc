#include "quorate/desk/desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "quorate/base/hash.h"
#include "quorate/base/rng.h"
#include "support/office.h"

namespace quorate {
namespace {

using Json = nlohmann::json;
using test::model_of;
using test::Office;
using test::spam;
using test::word;
using testing::HasSubstr;

TEST(DeskQuestions, AnExampleIsKnownByItsId) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  const std::string before = model_of(o.desk);
  EXPECT_TRUE(o.post("m1", "ann", "win money")["known"]);
  EXPECT_EQ(model_of(o.desk), before);
  EXPECT_EQ(o.status()["examples"], 1);
}

TEST(DeskQuestions, ExamplesPostedAgainAreNotJournalledAgain) {
  Office o(spam());
  const std::string lines = R"({"id": "m1", "text": "win money"})"
                            "\n"
                            R"({"id": "m2", "text": "lunch"})";
  const Json first = o.call({{"do", "examples"}}, lines);
  o.now += 10;
  const std::string before = o.desk.save();
  const DeskReply again = o.raw({{"do", "examples"}}, lines);
  EXPECT_EQ(again.verdict, Verdict::kDone);
  EXPECT_FALSE(again.changed);
  EXPECT_FALSE(o.raw({{"do", "examples"}}, "no JSON").changed);
  EXPECT_EQ(o.desk.save(), before);
  EXPECT_TRUE(o.raw({{"do", "examples"}}, lines + "\n" + R"({"id": "m3", "text": "dinner"})").changed);
  EXPECT_TRUE(o.raw({{"do", "examples"}}, R"({"id": "m1", "text": "win money", "label": "spam"})").changed) << "a gift";
}

TEST(DeskQuestions, ALabelThatComesLaterIsOneOfTheExampleAsItCameFirst) {
  for (const char* learner : {"cohort(query=always)", "cohort(query=random(p=1e-9))"}) {  // asked about, and not
    DeskSettings settings = spam();
    settings.learner = learner;
    Office o(settings), same(settings);
    for (Office* each : {&o, &same}) each->post("m0", "ann", "win money", "spam");
    for (Office* each : {&o, &same}) each->post("m1", "ann", "secret diagnosis");
    o.post("m1", "bob", "redacted", "ham");
    same.post("m1", "ann", "secret diagnosis", "ham");
    EXPECT_EQ(model_of(o.desk), model_of(same.desk)) << learner;
  }
}

TEST(DeskQuestions, ATaskWithoutLabelsLeftDoesNotKeepThePoolFromTheOthers) {
  DeskSettings settings = spam({"100"});
  settings.learner = "cohort(query=random(p=1e-9))";  // asks about nothing by itself
  settings.learning.labels_per_task = 1;
  Office o(settings);
  for (int i = 0; i < 4; ++i) o.post("a" + std::to_string(i), "ann", "unclear");
  const Json of_ann = o.next("eve");
  ASSERT_NE(of_ann, nullptr);
  o.answer(of_ann, "spam");
  for (int i = 0; i < 4; ++i) o.post("b" + std::to_string(i), "bob", "money win");
  for (int i = 0; i < 4; ++i) EXPECT_NE(o.post("c" + std::to_string(i), "ann", "nothing known")["asked"], true);
  const Json of_bob = o.next("eve");
  ASSERT_NE(of_bob, nullptr);
  EXPECT_EQ(of_bob["task"], "bob");
}

TEST(DeskQuestions, EveryTaskOfALargePoolGetsItsLabels) {
  DeskSettings settings = spam({"100"});
  settings.learner = "cohort(query=random(p=1e-9))";
  settings.learning.labels_per_task = 3;
  Office o(settings);
  std::string lines;
  for (int n = 0; n < 300; ++n)
    lines +=
        Json{{"id", "m" + std::to_string(n)}, {"task", n % 2 == 0 ? "ann" : "bob"}, {"text", word(7 * n)}}.dump() + "\n";
  o.call({{"do", "examples"}}, lines);
  std::map<std::string, int> labels;
  for (Json q = o.next("eve"); !q.is_null(); q = o.next("eve")) {
    ++labels[q["task"]];
    o.answer(q, labels.size() % 2 == 0 ? "spam" : "ham");
  }
  EXPECT_EQ(labels, (std::map<std::string, int>{{"ann", 3}, {"bob", 3}}));
}

TEST(DeskQuestions, ARefusedFirstPostLeavesNothingBehind) {
  DeskSettings settings = spam();
  settings.features.interactions = {"a*b"};
  Office o(settings);
  const std::string before = model_of(o.desk);
  EXPECT_EQ(o.raw({{"do", "examples"}}, R"({"id": "1", "a": 1.5, "c": 2})").verdict, Verdict::kUnusable);
  EXPECT_EQ(model_of(o.desk), before);
  EXPECT_EQ(o.raw({{"do", "examples"}}, R"({"id": "2", "a": 1.5, "b": 2})").verdict, Verdict::kDone);
}

TEST(DeskQuestions, PollingWhileTheRateIsSpentIsNotJournalled) {
  DeskSettings settings = spam({"4/day"});
  settings.learner = "cohort(query=random(p=1e-9))";
  settings.learning.audit = 0.5;
  Office o(settings);
  for (int i = 0; i < 40; ++i) o.post("m" + std::to_string(i), "ann", word(7 * i) + " " + word(11 * i));
  for (int i = 0; i < 10; ++i)
    if (const Json q = o.next("eve"); !q.is_null()) o.answer(q, i % 2 == 0 ? "spam" : "ham");
  ASSERT_GT(o.desk.model().session.budget().bought(), 0u);
  ASSERT_EQ(o.next("eve"), nullptr);
  o.now += 60;
  const std::string before = o.desk.save();
  EXPECT_FALSE(o.raw({{"do", "next"}, {"annotator", "eve"}}).changed);
  EXPECT_EQ(o.desk.save(), before);
  o.now += 86'400;
  EXPECT_NE(o.next("eve"), nullptr) << "another day";
}

TEST(DeskQuestions, ALeaseAnswersOnceAndBelongsToOne) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  const Json q = o.next("eve");
  EXPECT_EQ(o.next("bob"), nullptr) << "eve holds it";
  EXPECT_EQ(o.answer(q, "eggs").verdict, Verdict::kUnusable);
  EXPECT_EQ(o.answer(q, "spam").verdict, Verdict::kDone);
  const std::string model = model_of(o.desk);
  EXPECT_EQ(o.answer(q, "spam").verdict, Verdict::kDone) << "sent again";
  EXPECT_EQ(o.answer(q, "ham").verdict, Verdict::kConflict);
  EXPECT_EQ(model_of(o.desk), model);
  EXPECT_EQ(o.call({{"do", "renew"}, {"lease", q["lease"]}}, "", Verdict::kGone)["detail"].is_string(), true);
  EXPECT_EQ(o.raw({{"do", "answer"}, {"lease", "nonsense"}, {"label", "spam"}}).verdict, Verdict::kUnknown);
  EXPECT_EQ(o.raw({{"do", "answer"}, {"lease", "99-abc"}, {"label", "spam"}}).verdict, Verdict::kUnknown);
}

TEST(DeskQuestions, AnExpiredLeaseGoesToAnotherAndALateAnswerCountsIfNobodyElseHasIt) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  o.post("m2", "ann", "lunch");
  const Json late = o.next("eve");
  o.now += 1000;
  EXPECT_EQ(o.answer(late, "spam").verdict, Verdict::kDone) << "nobody else got it";
  const Json lost = o.next("eve");
  o.now += 1000;
  const Json taken = o.next("bob");
  EXPECT_EQ(taken["ticket"], lost["ticket"]);
  EXPECT_EQ(o.answer(lost, "ham").verdict, Verdict::kGone);
  EXPECT_EQ(o.answer(taken, "ham").verdict, Verdict::kDone);
  o.post("m3", "ann", "dinner");
  const Json renewed = o.next("eve");
  o.now += 200;
  EXPECT_EQ(o.raw({{"do", "renew"}, {"lease", renewed["lease"]}}).verdict, Verdict::kDone);
  o.now += 200;
  EXPECT_EQ(o.next("bob"), nullptr);
}

TEST(DeskQuestions, WhoeverComesBackGetsTheQuestionsTheyHold) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  const Json q = o.next("eve");
  EXPECT_EQ(o.next("eve")["lease"], q["lease"]);
  EXPECT_EQ(o.next("bob"), nullptr);
}

TEST(DeskQuestions, ASkippedQuestionGoesToSomebodyElse) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  const Json q = o.next("eve");
  EXPECT_EQ(o.raw({{"do", "skip"}, {"lease", q["lease"]}}).verdict, Verdict::kDone);
  EXPECT_EQ(o.raw({{"do", "skip"}, {"lease", q["lease"]}}).verdict, Verdict::kGone);
  EXPECT_EQ(o.next("eve"), nullptr);
  EXPECT_EQ(o.next("bob")["ticket"], q["ticket"]);
}

TEST(DeskQuestions, AFullSessionAsksNoMoreRatherThanLoseAnAnswer) {
  for (const double hold : {0.0, 1000.0}) {
    DeskSettings settings = spam();
    settings.learning.max_pending = 10;
    settings.desk.hold = hold;
    Office o(settings);
    std::vector<Json> leased;
    std::map<std::string, std::string> saved;  // example -> label
    for (int i = 0; i < 60; ++i) {
      o.post("m" + std::to_string(i), "ann", word(7 * i) + " " + word(11 * i));
      if (const Json q = o.call({{"do", "next"}, {"annotator", "eve"}, {"hold", 60}})["question"]; !q.is_null())
        leased.push_back(q);
      if (i % 6 != 5) continue;
      for (const Json& q : leased) {
        const std::string label = saved.size() % 2 == 0 ? "spam" : "ham";
        if (o.answer(q, label).verdict == Verdict::kDone) saved.emplace(q["example"].get<std::string>(), label);
      }
      leased.clear();
    }
    o.now += 2000;
    o.raw({{"do", "tick"}});
    EXPECT_GE(saved.size(), hold > 0 ? 10u : 50u);
    const Session& session = o.desk.model().session;
    EXPECT_EQ(session.labels().size(), saved.size()) << "what was saved is learned from";
    EXPECT_EQ(session.total().labels, saved.size());
    EXPECT_EQ(session.too_late(), 0u);
    Desk again(settings);
    for (const std::string& event : o.journal) EXPECT_TRUE(again.apply(event).changed);
    EXPECT_EQ(model_of(again), model_of(o.desk));
    EXPECT_EQ(again.save(), o.desk.save());
  }
}

TEST(DeskQuestions, QuestionsThatEverybodySkippedMakeRoom) {
  DeskSettings settings = spam();
  settings.learning.max_pending = 4;
  Office o(settings);
  for (int i = 0; i < 4; ++i) {
    o.post("m" + std::to_string(i), "ann", word(7 * i));
    o.raw({{"do", "skip"}, {"lease", o.next("eve")["lease"]}});
  }
  EXPECT_EQ(o.next("eve"), nullptr);
  o.post("m4", "ann", "lunch");
  const Json q = o.next("eve");
  ASSERT_NE(q, nullptr);
  EXPECT_EQ(o.answer(q, "ham").verdict, Verdict::kDone);
  EXPECT_EQ(o.desk.model().session.labels().size(), 1u);
}

TEST(DeskQuestions, LargeExamplesFillNoMemoryWithoutEnd) {
  DeskSettings settings = spam({"0"});
  settings.features.bits = 10;
  Office o(settings);
  const std::string large(6'000'000, 'x');
  for (int i = 0; i < 14; ++i) o.post("m" + std::to_string(i), "ann", large);
  EXPECT_LT(o.desk.save().size(), 68'000'000u) << "the pool";
  o.call({{"do", "limits"}, {"labels", 20}});
  for (int i = 0; i < 14; ++i) o.post("n" + std::to_string(i), "ann", large, i % 2 == 0 ? "spam" : "ham");
  EXPECT_LT(o.desk.save().size(), 136'000'000u) << "the pool, and closed questions";
  EXPECT_EQ(o.status()["gifts"], 14);
}

TEST(DeskQuestions, AFloodOfExamplesLeavesTheBudgetToTheAnswers) {
  DeskSettings settings = spam({"30"});
  settings.learner = "cohort";
  settings.desk.open = 8;
  Office o(settings);
  for (int i = 0; i < 500; ++i) o.post("m" + std::to_string(i), "ann", i % 2 == 0 ? "win money now" : "lunch at noon");
  EXPECT_LE(o.status()["labels"]["waiting"], 10);
  for (int i = 0; i < 12; ++i)
    if (const Json q = o.next("eve"); !q.is_null()) o.answer(q, q["fields"][0]["value"] == "win money now" ? "spam" : "ham");
  EXPECT_LT(o.desk.model().session.budget().bought(), 20u);
  EXPECT_EQ(o.post("new", "ann", "win money now")["label"], "spam");
}

TEST(DeskQuestions, APoolPostedAtOnceIsAskedToTheEndOfTheBudget) {
  DeskSettings settings = spam({"40"});
  settings.learner = "cohort";
  settings.desk.open = 5;
  Office o(settings);
  Rng rng = make_rng(5, 0);
  std::string lines;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (int w = 0; w < 5; ++w) text += word(static_cast<int>(below(40, rng))) + " ";
    lines += Json{{"id", "m" + std::to_string(i)}, {"task", "ann"}, {"text", text}}.dump() + "\n";
  }
  o.call({{"do", "examples"}}, lines);
  std::set<std::string> asked;
  for (Json q = o.next("eve"); !q.is_null(); q = o.next("eve")) {
    EXPECT_TRUE(asked.insert(q["example"].get<std::string>()).second) << "asked once";
    EXPECT_EQ(o.answer(q, hash64(q["example"].get<std::string>()) % 2 == 0 ? "spam" : "ham").verdict, Verdict::kDone);
  }
  EXPECT_EQ(asked.size(), 40u) << "nothing can be learned here, so the whole budget is of use";
  EXPECT_EQ(o.desk.model().session.budget().bought(), 40u);
}

TEST(DeskQuestions, ABadLineSpoilsNoOther) {
  Office o(spam());
  for (int i = 0; i < 20; ++i) o.post("m" + std::to_string(i), "ann", "win money");
  const Json found = o.call({{"do", "examples"}},
                            "{\"id\":\"a\",\"task\":\"t\",\"text\":\"one\"}\n{\"id\":\"b\",\"task\":\"t\",\"text\":5}\n"
                            "{\"id\":\"c\",\"task\":\"t\",\"text\":\"gift\",\"label\":\"spam\"}\nnone\n"
                            "{\"id\":\"d\",\"task\":\"t\",\"text\":\"two\"}\n")["examples"];
  ASSERT_EQ(found.size(), 5u);
  EXPECT_EQ(found[0]["id"], "a");
  EXPECT_TRUE(found[1].contains("error"));
  EXPECT_EQ(found[2]["task"], "t");
  EXPECT_TRUE(found[2]["learned"]);
  EXPECT_TRUE(found[3].contains("error"));
  EXPECT_EQ(found[4]["id"], "d");
  EXPECT_TRUE(o.call({{"do", "examples"}}, "none")["examples"][0].contains("error"));
}

TEST(DeskQuestions, ALabelMayComeAfterItsExample) {
  Office o(spam({"40"}));
  o.post("m1", "ann", "win money");
  o.post("m2", "ann", "lunch");
  const Json held = o.next("eve");
  EXPECT_TRUE(o.post("m1", "ann", "win money", "spam")["learned"]);
  EXPECT_TRUE(o.post("m2", "ann", "lunch", "ham")["learned"]);
  EXPECT_EQ(o.status()["labels"]["waiting"], 0);
  EXPECT_EQ(o.desk.model().session.budget().bought(), 0u);
  EXPECT_EQ(o.status()["examples"], 2);
  EXPECT_EQ(o.answer(held, "ham").verdict, Verdict::kGone);
  EXPECT_TRUE(o.post("m1", "ann", "win money", "ham")["known"]) << "it has its label";
  o.call({{"do", "forget_example"}, {"example", "m1"}});
  EXPECT_EQ(o.desk.model().session.labels().size(), 1u) << "its gift went with it";
  EXPECT_FALSE(o.post("m1", "ann", "win money").contains("known")) << "a forgotten one may come again";
}

TEST(DeskQuestions, ExamplesAreUtf8WhateverTheyBeginWith) {
  const std::string good = R"({"id":"b","task":"ann","text":"lunch"})";
  for (const std::string begin : {"\xFF\xFE", "PAR1", "PK\3\4", "\xD0\xCF\x11\xE0"}) {
    Office o(spam());
    const Json found = o.call({{"do", "examples"}}, begin + "\n" + good)["examples"];
    ASSERT_EQ(found.size(), 2u) << begin;
    EXPECT_TRUE(found[0].contains("error")) << begin;
    EXPECT_EQ(found[1]["id"], "b") << begin;
    EXPECT_NO_THROW(o.desk.save()) << begin;
  }
  Office o(spam());
  std::string wide;
  for (const char c : "\xFE" + good) wide.append({c, '\0'});
  wide.replace(0, 2, "\xFF\xFE");
  EXPECT_TRUE(o.call({{"do", "examples"}}, wide)["examples"][0].contains("error")) << "UTF-16";
  const Json marked = o.call({{"do", "examples"}}, "\xEF\xBB\xBF" + good)["examples"][0];
  EXPECT_EQ(marked["id"], "b") << marked;
  EXPECT_EQ(o.desk.save().find("\xEF\xBB\xBF"), std::string::npos) << "which is no part of the example";
}

TEST(DeskQuestions, KeysAreThoseOfTheFirstGoodLine) {
  Office o(spam());
  EXPECT_TRUE(o.call({{"do", "examples"}}, "none")["examples"][0].contains("error"));
  EXPECT_EQ(o.post("m1", "ann", "win money")["id"], "m1");
}

TEST(DeskQuestions, AnErrorNamesTheLineOfTheRequest) {
  Office o(spam());
  const Json bad = o.call({{"do", "examples"}, {"first", 256}}, "\n{\"text\":")["examples"][0];
  EXPECT_EQ(bad["line"], 258);
  EXPECT_THAT(bad["error"].get<std::string>(), HasSubstr("examples:258:"));
}

TEST(DeskQuestions, AGiftIsLearnedFromAndNotPaid) {
  Office o(spam({"1"}));
  EXPECT_TRUE(o.post("m1", "ann", "win money", "spam")["learned"]);
  EXPECT_EQ(o.status()["labels"]["bought"], 0);
  EXPECT_EQ(o.post("m2", "ann", "win money")["label"], "spam");
  EXPECT_THAT(o.post("m3", "ann", "x", "eggs")["error"].get<std::string>(), HasSubstr("expected one of ham, spam"));
}

TEST(DeskQuestions, AnExampleWithoutAnIdGetsOneOfItsOwn) {
  Office o(spam());
  o.post("#2", "ann", "win money");
  const Json made = o.call({{"do", "examples"}}, R"({"task":"ann","text":"lunch"})")["examples"][0];
  EXPECT_EQ(made["id"], "#3");
  EXPECT_FALSE(made.contains("known"));
  EXPECT_TRUE(o.post("#3", "ann", "lunch")["known"]) << "by the id that the reply gave it";
  o.call({{"do", "forget_example"}, {"example", "#3"}});
  EXPECT_EQ(o.status()["labels"]["waiting"], 1);
}

TEST(DeskQuestions, ARateByTimeHoldsForQuestionsFromThePool) {
  DeskSettings settings = spam({"4/minute"});
  settings.desk.hold = 0;
  Office o(settings);
  for (int i = 0; i < 30; ++i) o.post("m" + std::to_string(i), "ann", word(7 * i));
  std::vector<double> asked(4, o.now);
  for (int n = 0; n < 100; ++n) {
    o.now += 7;
    const std::uint64_t before = o.desk.model().session.tickets();
    if (const Json q = o.next("eve"); !q.is_null()) o.answer(q, "ham");
    if (n % 9 == 0) o.post("n" + std::to_string(n), "ann", word(1000 + 7 * n));
    for (std::uint64_t more = o.desk.model().session.tickets() - before; more > 0; --more) asked.push_back(o.now);
    EXPECT_LE(std::count_if(asked.begin(), asked.end(), [&](double at) { return at > o.now - 60; }), 4);
  }
  EXPECT_GT(asked.size(), 30u) << "what the rate allows is asked, though no example comes";
  Desk again(settings);
  for (const std::string& event : o.journal) EXPECT_TRUE(again.apply(event).changed);
  EXPECT_EQ(model_of(again), model_of(o.desk));
}

/// Whether the learner finds none when it decides or when it learns from a gift.
TEST(DeskQuestions, AGiftThatFoundMemoryForSomeClassesOnlyIsNotGivenAgain) {
  int partly = 0;
  for (std::uint64_t limit = 60'000; limit < 260'000 && partly == 0; limit += 8'000) {
    DeskSettings settings = spam();
    settings.positive = settings.negative = "";
    settings.classes = {"ham", "spam", "eggs"};
    settings.learner = "kernel-perceptron(query=always)";
    settings.learning.memory = ByteSize{limit};
    Office o(settings);
    const auto post = [&](int i) {
      std::string text;
      for (int w = 0; w < 30; ++w) text += word(31 * i + 7 * w) + " ";
      const Json example{{"id", "m" + std::to_string(i)}, {"text", text}, {"label", settings.classes[unsigned(i) % 3]}};
      return o.raw({{"do", "examples"}}, example.dump());
    };
    int n = 0;
    while (post(n).verdict == Verdict::kDone) ASSERT_LT(++n, 5000);
    const auto kept = [&] { return o.desk.model().session.labels().next_id(); };
    const std::uint64_t after = kept();
    if (after == 3u * unsigned(n)) continue;
    ++partly;
    EXPECT_EQ(post(n).verdict, Verdict::kDone) << "it is known";
    EXPECT_EQ(kept(), after);
    const DeskReply forgotten = o.raw({{"do", "forget_example"}, {"example", "m" + std::to_string(n)}});
    EXPECT_EQ(forgotten.verdict, Verdict::kDone) << forgotten.text();
  }
  EXPECT_EQ(partly, 1);
}

TEST(DeskQuestions, AnExampleThatFoundNoMemoryMayBePostedAgain) {
  for (const bool gift : {false, true}) {
    DeskSettings settings = spam();
    settings.learner = gift ? "kernel-perceptron(query=always)" : "amtl(query=always)";
    settings.learning.memory = ByteSize{60'000};
    settings.learning.keep_labels = ByteSize{0};
    Office o(settings);
    const auto post = [&](int i) {
      std::string text;
      for (int w = 0; w < 30; ++w) text += word(30 * i + w) + " ";
      Json example{{"id", "m" + std::to_string(i)}, {"task", "t" + std::to_string(i)}, {"text", text}};
      if (gift) example["label"] = i % 2 == 0 ? "spam" : "ham";
      return o.raw({{"do", "examples"}}, example.dump());
    };
    int n = 0;
    while (post(n).verdict == Verdict::kDone) ASSERT_LT(++n, 5000) << gift;
    const Json before = o.status();
    EXPECT_EQ(before["examples"], n);
    EXPECT_EQ(before["gifts"], gift ? n : 0);
    const DeskReply again = post(n);
    EXPECT_EQ(again.verdict, Verdict::kNoMemory) << again.text();
    EXPECT_EQ(o.status()["examples"], before["examples"]);
    EXPECT_EQ(o.status()["gifts"], before["gifts"]);
  }
}

}  // namespace
}  // namespace quorate
