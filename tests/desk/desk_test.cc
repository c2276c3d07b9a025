#include "quorate/desk/desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/learner.h"
#include "quorate/store/state.h"
#include "support/office.h"

namespace quorate {
namespace {

using Json = nlohmann::json;
using test::model_of;
using test::Office;
using test::spam;
using test::word;
using testing::HasSubstr;

TEST(Desk, AsksAndLearnsAndIsPaidOnce) {
  Office o(spam({"2"}));
  EXPECT_TRUE(o.post("m1", "ann", "win money")["asked"]);
  const Json q = o.next("eve");
  EXPECT_EQ(q["example"], "m1");
  EXPECT_EQ(q["task"], "ann");
  EXPECT_EQ(q["choices"], Json({"ham", "spam"}));
  EXPECT_EQ(q["fields"][0]["value"], "win money");
  EXPECT_EQ(o.status()["labels"]["bought"], 0);
  EXPECT_EQ(o.answer(q, "spam").verdict, Verdict::kDone);
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
  EXPECT_EQ(o.post("m2", "ann", "win money")["label"], "spam");
  EXPECT_FALSE(o.post("m3", "ann", "win money")["asked"]) << "two labels: one given, one waits";
  EXPECT_EQ(o.answer(o.next("eve"), "spam").verdict, Verdict::kDone);
  EXPECT_EQ(o.next("eve"), nullptr);
  EXPECT_THAT(o.raw({{"do", "next"}, {"annotator", "eve"}}).text(), HasSubstr("budget is spent"));
}

TEST(Desk, ALowerLimitWithdrawsWhatWaits) {
  Office o(spam({"40"}));
  for (int i = 0; i < 30; ++i) o.post("m" + std::to_string(i), "ann", "mail " + std::to_string(i));
  const Json held = o.next("eve");
  o.answer(o.next("bob"), "ham");
  o.call({{"do", "limits"}, {"labels", 1}});
  EXPECT_EQ(o.desk.model().session.budget().bought(), 1u);
  EXPECT_EQ(o.next("bob"), nullptr);
  EXPECT_EQ(o.answer(held, "ham").verdict, Verdict::kGone);
  o.call({{"do", "limits"}, {"labels", 5}});
  EXPECT_NE(o.next("bob"), nullptr) << "the pool has them";
}

TEST(Desk, ClassesThatNobodyCouldTellApartAreRefused) {
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"a", "b", ""}, {"a", "", "b"}, {"a", "a"}, {"a", " b"}}) {
    DeskSettings settings = spam();
    settings.positive = settings.negative = "";
    settings.classes = {names.begin(), names.end()};
    EXPECT_THROW(Desk{settings}, UsageError);
  }
}

TEST(Desk, ARequestThatChangesNothingLeavesNothingBehind) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  o.answer(o.next("eve"), "spam");
  o.now += 100'000;
  const std::string before = o.desk.save();
  const DeskReply none = o.raw({{"do", "next"}, {"annotator", "eve"}});
  EXPECT_FALSE(none.changed);
  EXPECT_EQ(o.desk.save(), before);
}

TEST(Desk, AForgottenTaskIsGone) {
  Office o(spam());
  o.post("m1", "zoe", "secretword money");
  o.post("m2", "bob", "lunch");
  o.answer(o.next("eve"), "ham");
  o.answer(o.next("eve"), "ham");
  o.post("m3", "zoe", "secretword again");
  o.call({{"do", "forget_task"}, {"task", "zoe"}});
  EXPECT_EQ(o.desk.save().find("secretword"), std::string::npos);
  EXPECT_EQ(model_of(o.desk).find("zoe"), std::string::npos);
  EXPECT_EQ(o.next("eve"), nullptr);
  EXPECT_EQ(o.raw({{"do", "forget_task"}, {"task", "zoe"}}).verdict, Verdict::kUnknown);
  o.call({{"do", "forget_example"}, {"example", "m2"}});
  EXPECT_EQ(o.desk.model().session.labels().size(), 0u);
  EXPECT_EQ(o.raw({{"do", "forget_example"}, {"example", "m9"}}).verdict, Verdict::kUnknown);
}

TEST(Desk, ALabelGivenLongAgoIsForgottenByTheIdThatItKeeps) {
  Office o(spam());
  for (int i = 0; i < 10'100; ++i) o.post("m" + std::to_string(i), "ann", word(i % 50), i % 3 == 0 ? "spam" : "ham");
  const KeptLabels& labels = o.desk.model().session.labels();
  ASSERT_EQ(labels.size(), 10'100u);
  EXPECT_EQ(labels.example_id(7), "m7");
  ASSERT_TRUE(o.call({{"do", "forget_example"}, {"example", "m8"}})["forgotten"]["labels"] == 1);
  ASSERT_EQ(labels.size(), 10'099u);
  EXPECT_EQ(labels.example_id(8), "m9");
  EXPECT_EQ(model_of(o.desk).find("m8m9"), std::string::npos);
  Desk saved(spam(), Model::from_bytes(model_of(o.desk)), o.desk.save());
  EXPECT_EQ(saved.model().session.labels().example_id(8), "m9");
}

TEST(Desk, ATaskThatMemoryDoesNotHoldIsForgottenWithItsQuestions) {
  DeskSettings settings = spam();
  settings.learning.memory = ByteSize{400'000};
  Office o(settings);
  for (int i = 0; o.desk.model().session.known_task("t" + std::to_string(i - 1)) != kUntracked || i == 0; ++i) {
    ASSERT_LT(i, 100'000);
    o.post("m" + std::to_string(i), "t" + std::to_string(i), word(i % 50));
  }
  o.post("last", "zoe", "secretword");
  ASSERT_EQ(o.desk.model().session.known_task("zoe"), kUntracked);
  EXPECT_EQ(o.raw({{"do", "forget_task"}, {"task", "nobody"}}).verdict, Verdict::kUnknown);
  const Json forgotten = o.call({{"do", "forget_task"}, {"task", "zoe"}})["forgotten"];
  EXPECT_THAT(forgotten["left"].dump(), HasSubstr("no room for the task"));
  EXPECT_EQ(o.desk.save().find("secretword"), std::string::npos);
}

TEST(Desk, ATaskIsForgottenWhereTasksFillTheMemory) {
  for (const std::uint64_t limit : {300'000u, 600'000u, 1'000'000u})
    for (const std::string name : {"t", "someone.with.a.longer.name.at.example.org."}) {
      DeskSettings settings = spam();
      settings.learning.memory = ByteSize{limit};
      Office o(settings);
      for (int i = 0; o.desk.model().session.known_task(name + std::to_string(i - 1)) != kUntracked || i == 0; ++i) {
        ASSERT_LT(i, 100'000);
        o.post("m" + std::to_string(i), name + std::to_string(i), word(i % 50));
      }
      for (int i = 3; i < 6; ++i) {
        const DeskReply reply = o.raw({{"do", "forget_task"}, {"task", name + std::to_string(i)}});
        ASSERT_EQ(reply.verdict, Verdict::kDone) << limit << name << reply.text();
        ASSERT_EQ(o.desk.model().session.known_task(name + std::to_string(i)), kUntracked);
      }
      EXPECT_EQ(o.desk.model().session.broken(), "");
      EXPECT_LE(o.desk.model().session.peak_bytes(), limit);
    }
}

TEST(Desk, AnExampleThatNobodyWasAskedAboutLeavesTheModel) {
  for (const bool classes : {false, true}) {
    DeskSettings settings = spam();
    settings.learner = "cohort(scale=none)";  // counts of features would stay
    if (classes) {
      settings.positive = settings.negative = "";
      settings.classes = {"ham", "spam", "eggs"};
    }
    const char* lines = R"({"task":"ann","text":"secretword money lunch"})";
    Office o(settings), never(settings);
    for (Office* each : {&o, &never})
      for (int i = 0; i < 60; ++i)
        each->post("m" + std::to_string(i), "ann", i % 2 == 0 ? "win money" : "lunch at noon", i % 2 == 0 ? "spam" : "ham");
    const Json posted = o.post("secret", "ann", "secretword money win");
    ASSERT_FALSE(posted["asked"]) << posted;
    for (Office* each : {&o, &never}) each->call({{"do", "forget_example"}, {"example", "m7"}});  // both are rebuilt
    EXPECT_NE(o.desk.predict(lines).text(), never.desk.predict(lines).text()) << "it was learned from";
    const Json forgotten = o.call({{"do", "forget_example"}, {"example", "secret"}})["forgotten"];
    EXPECT_EQ(forgotten, (Json{{"example", "secret"}, {"labels", 0}, {"left", {"names of its features"}}}));
    EXPECT_EQ(o.desk.predict(lines).text(), never.desk.predict(lines).text());
    EXPECT_EQ(o.desk.save().find("secretword"), std::string::npos);
  }
}

TEST(Desk, WhatCannotBeForgottenIsNamed) {
  DeskSettings settings = spam({"100"});
  settings.learning.audit = 0.5;
  settings.learning.audit_floor = 0.4;
  settings.features.bits = 0;
  Office o(settings);
  for (int i = 0; i < 40; ++i) o.post("m" + std::to_string(i), "ann", word(7 * i));
  for (Json q = o.next("eve"); !q.is_null(); q = o.next("eve")) o.answer(q, "ham");
  ASSERT_GT(o.status()["labels"]["audits"], 3);
  for (int i = 0; i < 40; ++i) {
    const Json left = o.call({{"do", "forget_example"}, {"example", "m" + std::to_string(i)}})["forgotten"]["left"];
    EXPECT_THAT(left.dump(), HasSubstr("counts of its features"));
    EXPECT_THAT(left.dump(), HasSubstr("names of its features"));
  }
  EXPECT_EQ(o.desk.model().session.labels().size(), 0u) << "those of audits went, too";
  settings = spam();
  settings.desk.pool = 1;
  settings.learner = "cohort";
  Office few(settings);
  for (int i = 0; i < 30; ++i)
    few.post("g" + std::to_string(i), "ann", i % 2 == 0 ? "win" : "lunch", i % 2 == 0 ? "spam" : "ham");
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(few.post("m" + std::to_string(i), "ann", "win")["asked"]);
  EXPECT_THAT(few.call({{"do", "forget_example"}, {"example", "m0"}})["forgotten"]["left"].dump(),
              HasSubstr("it came too long ago"));
}

TEST(Desk, BadEventsChangeNothing) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  o.next("eve");
  const std::string model = model_of(o.desk), state = o.desk.save();
  for (const std::string text :
       {"", "{", "[]", "{}", R"({"at":1})", R"({"at":"x","do":"next"})", R"({"at":2e6,"do":"fly"})",
        R"({"at":2e6,"do":"next"})", R"({"at":2e6,"do":"next","annotator":7})", R"({"at":2e6,"do":"answer","lease":"0-x"})",
        R"({"at":2e6,"do":"limits"})", R"({"at":2e6,"do":"limits","labels":-1})",
        R"({"at":2e6,"do":"decide","ticket":0,"label":"spam"})", R"({"at":2e6,"do":"undo","annotator":"bob"})",
        "{\"at\":2e6,\"do\":\"examples\"}", "{\"at\":2e6,\"do\":\"examples\"}\n \n"}) {
    const DeskReply out = o.desk.apply(text);
    EXPECT_FALSE(out.changed) << text;
    EXPECT_TRUE(Json::accept(out.text())) << text;
    EXPECT_EQ(model_of(o.desk), model) << text;
    EXPECT_EQ(o.desk.save(), state) << text;
  }
}

TEST(Desk, AClassIsOneLabelAndAllItsQuestionsLearnFromIt) {
  for (const char* reduction : {"one-vs-rest", "one-vs-one"}) {
    auto settings = test::spam({"3"});
    settings.positive = settings.negative = "";
    settings.classes = {"ham", "spam", "eggs"};
    settings.reduction = reduction;
    Office office(settings), given(settings);
    for (int n = 0; n < 3; ++n) {
      const std::string id = "m" + std::to_string(n), text = test::word(n) + " " + test::word(n + 1);
      office.post(id, "ann", text);
      const Json question = office.next("bob");
      ASSERT_FALSE(question.is_null()) << n;
      ASSERT_TRUE(office.answer(question, settings.classes[unsigned(n)]).done());
      given.post(id, "ann", text, settings.classes[unsigned(n)]);
      EXPECT_EQ(office.status()["labels"]["bought"], n + 1);
    }
    office.post("m3", "ann", "other words");
    EXPECT_TRUE(office.next("bob").is_null()) << "three labels";
    const Session &bought = office.desk.model().session, &gifts = given.desk.model().session;
    ASSERT_EQ(bought.labels().size(), gifts.labels().size()) << reduction << ": as of an example with its label";
    EXPECT_EQ(office.call({{"do", "undo"}, {"annotator", "bob"}})["labels"]["bought"], 3);
    EXPECT_EQ(bought.labels().size(), gifts.labels().size() * 2 / 3);
    const Json again = office.next("bob");
    ASSERT_TRUE(office.answer(again, "eggs").done());
    EXPECT_EQ(bought.labels().size(), gifts.labels().size());
    EXPECT_EQ(office.status()["labels"]["bought"], 3);
  }
}

TEST(Desk, AnAuditOfClassesIsOneLabelAndNothingIsLearnedFromIt) {
  auto settings = test::spam({"40"});
  settings.positive = settings.negative = "";
  settings.classes = {"a", "b", "c", "d", "e"};
  settings.learning.audit = 0.3;
  settings.learning.audit_floor = 0.3;
  Office office(settings);
  const Session& session = office.desk.model().session;
  std::uint64_t audits = 0;
  for (int n = 0; n < 60; ++n) {
    office.post("m" + std::to_string(n), "ann", test::word(n % 9) + " " + test::word(n % 4));
    for (Json question = office.next("bob"); !question.is_null(); question = office.next("bob")) {
      const std::uint64_t bought = session.total().labels, audited = session.audit()->bought();
      Tensors before, after;
      session.learner().save(Writer(before));
      ASSERT_TRUE(office.answer(question, settings.classes[unsigned(n) % 5]).done());
      session.learner().save(Writer(after));
      EXPECT_EQ(session.total().labels, bought + 1);
      if (session.audit()->bought() == audited) continue;
      ++audits;
      EXPECT_EQ(to_bytes(after), to_bytes(before)) << n;
    }
  }
  EXPECT_GT(audits, 4U);
  EXPECT_EQ(session.total().labels, 40U);
  EXPECT_LE(session.audit()->covered(), 60U) << "examples, not questions";
  EXPECT_EQ(session.audit()->scored(), audits) << "each says whether the class was right";
}

TEST(Desk, AnAuditOfClassesIsChangedAndTakenBackLikeOthers) {
  auto settings = test::spam({"100"});
  settings.positive = settings.negative = "";
  settings.classes = {"a", "b", "c", "d", "e"};
  settings.learning.audit = 0.3;
  settings.learning.audit_floor = 0.3;
  Office office(settings);
  const auto put = [&](const Json& q, const char* label) {
    return Json{{"do", "put"}, {"annotator", "eve"}, {"source", "x"}, {"ticket", q["ticket"]}, {"label", label}};
  };
  Json audit;
  std::string predicted;
  const Session& session = office.desk.model().session;
  for (int n = 0; n < 80; ++n) {
    office.post("m" + std::to_string(n), "ann", test::word(n % 5));
    const Json q = office.next("tool");
    if (q.is_null()) continue;
    const std::uint64_t before = session.audit()->bought();
    office.call(put(q, settings.classes[unsigned(n) % 5].c_str()));
    if (session.audit()->bought() > before) {
      audit = q;
      predicted = settings.classes[session.labels()[session.labels().size() - 1].audit - 1];
    }
  }
  ASSERT_FALSE(audit.is_null());
  const auto wrong = [&] {
    const Estimate recent = session.audit()->recent(), earlier = session.audit()->earlier();
    return std::lround((1 - recent.value) * static_cast<double>(recent.examples)) +
           (earlier.examples > 0 ? std::lround((1 - earlier.value) * static_cast<double>(earlier.examples)) : 0);
  };
  const auto bought = session.audit()->bought(), scored = session.audit()->scored();
  const char* other = predicted == "a" ? "b" : "a";
  office.call(put(audit, predicted.c_str()));
  const auto mistakes = wrong();
  office.call(put(audit, other));
  EXPECT_EQ(wrong(), mistakes + 1);
  Desk loaded(settings, Model::from_bytes(office.desk.model().to_bytes()), office.desk.save());
  office.call({{"do", "put"}, {"annotator", "eve"}, {"source", "x"}, {"ticket", audit["ticket"]}, {"label", nullptr}});
  EXPECT_EQ(session.audit()->scored(), scored - 1);
  office.call(put(audit, other));
  EXPECT_EQ(wrong(), mistakes + 1) << "another class than the one that was predicted then";
  office.call(put(audit, predicted.c_str()));
  EXPECT_EQ(wrong(), mistakes);
  EXPECT_EQ(session.audit()->scored(), scored);
  EXPECT_EQ(session.audit()->bought(), bought);
}

TEST(Desk, ForgettingAHeldAnswerGivesNoLabelBack) {
  for (const bool by_task : {false, true}) {
    auto settings = test::spam({"2", "2/minute"});
    settings.desk.hold = 30;
    Office office(settings);
    for (int n = 0; n < 6; ++n) office.post("m" + std::to_string(n), "t" + std::to_string(n), test::word(n));
    int answered = 0;
    for (Json question = office.next("ann"); !question.is_null(); question = office.next("ann")) {
      ASSERT_TRUE(office.answer(question, "spam").done());
      ++answered;
      if (by_task)
        office.call({{"do", "forget_task"}, {"task", question["task"]}});
      else
        office.call({{"do", "forget_example"}, {"example", question["example"]}});
    }
    EXPECT_EQ(answered, 2) << by_task;
    EXPECT_EQ(office.status()["labels"]["bought"], 2);
    EXPECT_NO_THROW(Desk(settings, Model::from_bytes(model_of(office.desk)), office.desk.save()));
  }
}

TEST(Desk, AQuestionThatWasSkippedGivesItsPlaceInARateBack) {
  Office office(test::spam({"2/minute"}));
  for (int n = 0; n < 6; ++n) office.post("m" + std::to_string(n), "ann", test::word(n));
  const auto skip = [&] {
    const Json question = office.next("ann");
    if (!question.is_null()) office.call({{"do", "skip"}, {"lease", question["lease"]}});
    return !question.is_null();
  };
  EXPECT_TRUE(skip());
  EXPECT_TRUE(skip());
  EXPECT_FALSE(skip()) << "others may come";
  office.now += 60;
  EXPECT_TRUE(skip()) << "nobody came";
}

TEST(Desk, ARateOfLabelsIsNotBoughtTwiceByQuestionsThatWaited) {
  Office office(test::spam({"2/minute"}));
  for (int n = 0; n < 12; ++n) {
    office.post("m" + std::to_string(n), "ann", test::word(n));
    office.now += 10;
  }
  const Json first = office.next("ann"), second = office.next("bob");
  EXPECT_TRUE(office.next("cid").is_null()) << "two wait, however long ago they were asked";
  EXPECT_TRUE(office.answer(first, "spam").done());
  EXPECT_TRUE(office.answer(second, "ham").done());
  office.now += 20;
  const Json reply = office.call({{"do", "next"}, {"annotator", "ann"}});
  EXPECT_TRUE(reply["question"].is_null());
  EXPECT_EQ(reply["reason"], "the rate of labels, 2/minute, leaves none now; the next one in 40 s");
  office.now += 39.5;
  EXPECT_TRUE(office.next("ann").is_null());
  office.now += 0.5;
  EXPECT_FALSE(office.next("ann").is_null()) << "one that came while the rate left none";
  EXPECT_FALSE(office.next("bob").is_null());
  EXPECT_TRUE(office.next("cid").is_null());
}

}  // namespace
}  // namespace quorate
