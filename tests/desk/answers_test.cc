#include "quorate/desk/desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "support/office.h"

namespace quorate {
namespace {

using Json = nlohmann::json;
using test::model_of;
using test::Office;
using test::spam;
using test::word;
using testing::HasSubstr;

TEST(DeskAnswers, UndoIsExactAndTheQuestionComesBack) {
  Office o(spam({"10"}));
  for (int i = 0; i < 4; ++i) {
    o.post("m" + std::to_string(i), "ann", i % 2 == 0 ? "win money" : "lunch at noon");
    o.answer(o.next("eve"), i % 2 == 0 ? "spam" : "ham");
  }
  const Json undone = o.call({{"do", "undo"}, {"annotator", "eve"}});
  EXPECT_EQ(undone["undone"]["label"], "ham");
  EXPECT_EQ(undone["question"]["example"], "m3");
  EXPECT_EQ(o.desk.model().session.labels().size(), 3u);
  EXPECT_EQ(o.status()["labels"]["bought"], 4) << "it stays bought";
  EXPECT_EQ(o.answer(undone["question"], "ham").verdict, Verdict::kDone);
  EXPECT_EQ(o.desk.model().session.labels().size(), 4u);
  EXPECT_EQ(o.status()["labels"]["bought"], 4) << "and is paid once";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(o.raw({{"do", "undo"}, {"annotator", "eve"}}).verdict, Verdict::kDone) << i;
  EXPECT_EQ(o.raw({{"do", "undo"}, {"annotator", "eve"}}).verdict, Verdict::kConflict);
  EXPECT_EQ(o.desk.model().session.labels().size(), 0u);
}

TEST(DeskAnswers, TheModelKeepsWhoGaveTheLabelItLearned) {
  DeskSettings settings = spam();
  settings.desk.opinions = 1;
  Office o(settings);
  o.post("m1", "ann", "win money");
  o.answer(o.next("eve"), "spam");
  o.answer(o.next("bob"), "ham");
  const auto kept = [&] {
    const KeptLabels& labels = o.desk.model().session.labels();
    EXPECT_EQ(labels.size(), 1u);
    return std::string(labels.annotator(labels[0]));
  };
  EXPECT_EQ(kept(), "eve");
  o.call({{"do", "decide"}, {"ticket", 0}, {"label", "ham"}});
  EXPECT_EQ(kept(), "bob");
  EXPECT_THAT(o.desk.labels(0, 10).text, HasSubstr("\"annotator\":\"bob\""));
}

TEST(DeskAnswers, AnAnswerIsHeldBackFromALearnerThatCannotUnlearn) {
  DeskSettings settings = spam({"2"});
  settings.learner = "peer(b=1000, bq=1000)";
  Office o(settings), never(settings);
  for (Office* office : {&o, &never})
    for (int i = 0; i < 3; ++i) office->post("m" + std::to_string(i), "ann", "win money " + std::to_string(i));
  const std::string before = model_of(o.desk);
  o.answer(o.next("eve"), "spam");
  EXPECT_EQ(o.desk.due(), o.now + 30);
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
  EXPECT_EQ(o.desk.model().session.total().labels, 0u) << "not learned from yet";
  o.now += 29;
  const Json undone = o.call({{"do", "undo"}, {"annotator", "eve"}});
  EXPECT_EQ(o.desk.due(), std::nullopt);
  EXPECT_EQ(o.status()["labels"]["bought"], 0);
  o.answer(undone["question"], "ham");
  o.now += 29;
  EXPECT_FALSE(o.raw({{"do", "tick"}}).changed);
  o.now += 1;
  EXPECT_TRUE(o.raw({{"do", "tick"}}).changed);
  EXPECT_EQ(o.desk.due(), std::nullopt);
  EXPECT_EQ(o.desk.model().session.total().labels, 1u);
  const DeskReply late = o.raw({{"do", "undo"}, {"annotator", "eve"}});
  EXPECT_EQ(late.verdict, Verdict::kConflict);
  EXPECT_THAT(late.text(), HasSubstr("peer cannot unlearn"));
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
  o.answer(o.next("eve"), "spam");
  o.now += 100;
  EXPECT_EQ(o.raw({{"do", "answer"}, {"lease", "0-x"}, {"label", "spam"}}).verdict, Verdict::kUnknown);
  EXPECT_EQ(o.desk.model().session.total().labels, 2u) << "an event that is refused brings the time, too";
  EXPECT_EQ(o.status()["labels"]["bought"], 2);
  Desk again(settings);
  for (const std::string& event : o.journal) EXPECT_TRUE(again.apply(event).changed);
  EXPECT_EQ(model_of(again), model_of(o.desk));
  EXPECT_EQ(again.save(), o.desk.save());
}

TEST(DeskAnswers, AHeldAnswerIsSettledForgottenAndSaved) {
  DeskSettings settings = spam({"9"});
  settings.desk.opinions = 1;
  settings.desk.hold = 60;
  Office o(settings);
  for (int i = 0; i < 3; ++i) o.post("m" + std::to_string(i), i == 2 ? "bob" : "ann", "win money " + std::to_string(i));
  for (int i = 0; i < 3; ++i)
    for (const char* who : {"eve", "dan"}) o.answer(o.next(who), who[0] == 'e' ? "spam" : "ham");
  EXPECT_EQ(o.status()["labels"]["bought"], 3);
  const Json disagreements = o.status()["disagreements"];
  ASSERT_EQ(disagreements.size(), 3u);
  o.call({{"do", "decide"}, {"ticket", disagreements[0]["ticket"]}, {"label", "ham"}});
  Desk back(settings, Model::from_bytes(model_of(o.desk)), o.desk.save());
  o.call({{"do", "forget_task"}, {"task", "bob"}});
  EXPECT_EQ(o.desk.model().session.pending().size(), 2u) << "the label of what was forgotten is in the budget again";
  o.now += 60;
  EXPECT_TRUE(o.raw({{"do", "tick"}}).changed);
  std::vector<Answer> learned;
  for (std::size_t i = 0; i < o.desk.model().session.labels().size(); ++i)
    learned.push_back(o.desk.model().session.labels()[i].answer());
  EXPECT_THAT(learned, testing::UnorderedElementsAre(kYes, kNo)) << "as settled, or as answered first";
  EXPECT_EQ(back.due(), o.now);
  EXPECT_TRUE(back.apply(o.journal.back()).changed) << "the time";
  EXPECT_EQ(back.model().session.labels().size(), 3u);
}

TEST(DeskAnswers, ALearnerWithoutMemoryTakesNoMoreAnswersAndSaysSo) {
  for (const double hold : {0.0, 10.0}) {
    DeskSettings settings = spam();
    settings.learner = "kernel-perceptron(query=always)";
    settings.learning.memory = ByteSize{60'000};
    settings.learning.keep_labels = ByteSize{0};
    settings.desk.hold = hold;
    Office o(settings);
    std::size_t saved = 0, refused = 0;
    std::string said;
    for (int i = 0; i < 400; ++i) {
      std::string text;
      for (int w = 0; w < 30; ++w) text += word(30 * i + w) + " ";
      o.raw({{"do", "examples"}}, Json{{"id", "m" + std::to_string(i)}, {"task", "ann"}, {"text", text}}.dump());
      const DeskReply next = o.raw({{"do", "next"}, {"annotator", "eve"}});
      const Json q = Json::parse(next.text())["question"];
      o.now += 1;
      if (q.is_null()) {
        said = Json::parse(next.text())["reason"];
        break;
      }
      const DeskReply reply = o.answer(q, i % 2 == 0 ? "spam" : "ham");
      saved += reply.verdict == Verdict::kDone;
      refused += reply.verdict == Verdict::kNoMemory;
    }
    EXPECT_THAT(said, HasSubstr("cannot learn any more"));
    EXPECT_GT(saved, 5u);
    o.now += 100;
    o.raw({{"do", "tick"}});
    const std::string problem = o.status()["problem"];
    EXPECT_THAT(problem, HasSubstr("60000 bytes"));
    if (hold == 0) {
      EXPECT_EQ(refused, 1u);
      EXPECT_EQ(o.desk.model().session.total().labels, saved) << "a label that is refused is not bought";
      EXPECT_THAT(problem, testing::Not(HasSubstr("could not be learned from")));
    } else {
      EXPECT_THAT(problem, HasSubstr("will be learned from then"));
      EXPECT_THAT(problem, testing::Not(HasSubstr("could not be learned from")));
      EXPECT_EQ(o.status()["labels"]["bought"], saved) << "they are paid for";
    }
    EXPECT_EQ(o.call({{"do", "examples"}}, R"({"id":"last","task":"ann","text":"lunch"})")["examples"][0]["id"], "last")
        << "predictions go on";
    Desk again(settings);
    for (const std::string& event : o.journal) EXPECT_TRUE(again.apply(event).changed) << event;
    EXPECT_EQ(again.save(), o.desk.save());
    EXPECT_EQ(Desk(settings, Model::from_bytes(model_of(o.desk)), o.desk.save()).save(), o.desk.save());
  }
}

TEST(DeskAnswers, AnswersHeldBackThatFindNoMemoryAreLearnedFromOnceSomethingIsForgotten) {
  DeskSettings settings = spam();
  settings.learner = "kernel-perceptron(query=always)";
  settings.learning.memory = ByteSize{200'000};
  settings.learning.keep_labels = ByteSize{25'000};
  settings.desk.hold = 10;
  Office o(settings);
  std::size_t saved = 0, of_large = 0;
  for (int i = 0; i < 400; ++i) {
    std::string text;
    for (int w = 0; w < 30; ++w) text += word(30 * i + w) + " ";
    const std::string task = saved < 30 ? "large" : "ann";
    o.raw({{"do", "examples"}}, Json{{"id", "m" + std::to_string(i)}, {"task", task}, {"text", text}}.dump());
    const Json q = o.next("eve");
    o.now += 1;
    if (q.is_null()) break;
    saved += o.answer(q, i % 2 == 0 ? "spam" : "ham").verdict == Verdict::kDone;
    of_large = std::min<std::size_t>(saved, 30);
  }
  o.now += 100;
  o.raw({{"do", "tick"}});
  ASSERT_THAT(o.status()["problem"].dump(), HasSubstr("will be learned from then"));
  ASSERT_GT(saved, 30u);
  const auto learned = [&] { return o.desk.model().session.total().labels; };
  EXPECT_LT(learned(), saved);
  const std::string model = model_of(o.desk), state = o.desk.save();
  Desk loaded(settings, Model::from_bytes(model), state);
  EXPECT_EQ(loaded.save(), state);
  o.call({{"do", "forget_task"}, {"task", "large"}});
  EXPECT_FALSE(o.status().contains("problem"));
  o.now += 1;
  o.raw({{"do", "tick"}});
  EXPECT_FALSE(o.status().contains("problem"));
  EXPECT_EQ(learned(), saved) << of_large << " of them of the task that was forgotten";
  Desk again(settings);
  for (const std::string& event : o.journal) EXPECT_TRUE(again.apply(event).changed) << event;
  EXPECT_EQ(again.save(), o.desk.save());
}

TEST(DeskAnswers, SecondOpinionsAreComparedAndDisagreementsSettled) {
  DeskSettings settings = spam();
  settings.desk.opinions = 1;
  Office o(settings);
  o.post("m1", "ann", "win money");
  o.answer(o.next("eve"), "spam");
  EXPECT_EQ(o.next("eve"), nullptr) << "not to the same annotator";
  const Json second = o.next("bob");
  EXPECT_EQ(o.answer(second, "ham").verdict, Verdict::kDone);
  EXPECT_EQ(o.status()["disagreements"][0]["ticket"], second["ticket"]);
  EXPECT_EQ(o.status()["annotators"][0]["agreement"], 0.0);
  EXPECT_EQ(o.desk.model().session.labels()[0].answer(), kYes) << "the first is learned from";
  EXPECT_EQ(o.raw({{"do", "decide"}, {"ticket", second["ticket"]}, {"label", "ham"}}).verdict, Verdict::kDone);
  EXPECT_EQ(o.desk.model().session.labels()[0].answer(), kNo);
  EXPECT_TRUE(o.status()["disagreements"].empty());
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
}

TEST(DeskAnswers, ADecisionEndsWithTheDisagreement) {
  DeskSettings settings = spam();
  settings.desk.opinions = 1;
  Office o(settings);
  o.post("m1", "ann", "win money");
  const Json first = o.next("eve");
  o.answer(first, "spam");
  o.answer(o.next("bob"), "ham");
  o.call({{"do", "decide"}, {"ticket", first["ticket"]}, {"label", "ham"}});
  o.call({{"do", "undo"}, {"annotator", "bob"}});
  EXPECT_EQ(o.desk.model().session.labels()[0].answer(), kYes) << "as the first annotator says";
  o.answer(o.next("bob"), "spam");
  EXPECT_EQ(o.desk.model().session.labels()[0].answer(), kYes);
  EXPECT_EQ(o.desk.model().session.labels().size(), 1u);
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
  EXPECT_EQ(o.call({{"do", "decide"}, {"ticket", first["ticket"]}, {"label", "ham"}})["saved"], true);
}

TEST(DeskAnswers, AnUndoneSecondOpinionLeavesTheFirstAsItWas) {
  DeskSettings settings = spam();
  settings.desk.opinions = 1;
  Office o(settings);
  o.post("m1", "ann", "win money");
  const Json first = o.next("eve");
  o.answer(first, "spam");
  o.answer(o.next("bob"), "spam");
  EXPECT_EQ(o.status()["annotators"][0]["agreement"], 1.0);
  o.call({{"do", "undo"}, {"annotator", "bob"}});
  EXPECT_EQ(o.status()["annotators"][0]["agreement"], nullptr);
  EXPECT_EQ(o.answer(first, "spam").verdict, Verdict::kDone) << "sent again";
  EXPECT_EQ(o.answer(first, "ham").verdict, Verdict::kConflict);
}

TEST(DeskAnswers, ADecisionEndsWithTheAnswersItWasAbout) {
  DeskSettings settings = spam();
  settings.desk.opinions = 1;
  settings.desk.hold = 60;
  Office o(settings);
  o.post("m1", "ann", "win money");
  const Json first = o.next("eve");
  o.answer(first, "spam");
  o.answer(o.next("bob"), "ham");
  o.call({{"do", "decide"}, {"ticket", first["ticket"]}, {"label", "ham"}});
  for (const char* who : {"bob", "eve"}) o.call({{"do", "undo"}, {"annotator", who}});
  EXPECT_EQ(o.answer(o.next("eve"), "spam").verdict, Verdict::kDone);
  o.now += 60;
  o.raw({{"do", "tick"}});
  ASSERT_EQ(o.desk.model().session.labels().size(), 1u);
  EXPECT_EQ(o.desk.model().session.labels()[0].answer(), kYes) << "as answered anew";
}

/// An answer that another tool has; label null: it was taken back there.
Json put(const Json& question, const std::string& annotator, const Json& label, const std::string& source = "tool:1") {
  return {{"do", "put"},
          {"ticket", question["ticket"]},
          {"example", question["example"]},
          {"annotator", annotator},
          {"label", label},
          {"source", source},
          {"holder", "tool"},
          {"seconds", 2}};
}

TEST(DeskAnswers, AnAnswerThatIsPutCountsOnceAndIsReplacedAndTakenBack) {
  Office o(spam({"2"})), plain(spam({"2"}));
  for (Office* each : {&o, &plain}) {
    each->post("m1", "ann", "win money");
    each->post("m2", "ann", "lunch");
  }
  Json first = o.call({{"do", "next"}, {"annotator", "tool"}, {"hold", 3}})["question"],
       second = o.call({{"do", "next"}, {"annotator", "tool"}, {"hold", 3}})["question"];
  if (first["example"] != "m1") std::swap(first, second);
  EXPECT_NE(first["ticket"], second["ticket"]);
  EXPECT_TRUE(o.raw(put(first, "eve", "ham")).changed);
  const std::string model = model_of(o.desk);
  EXPECT_FALSE(o.raw(put(first, "eve", "ham")).changed) << "again";
  EXPECT_EQ(o.call(put(first, "bob", "spam"), "", Verdict::kConflict)["detail"].is_string(), true) << "eve answered it";
  EXPECT_FALSE(o.raw(put(first, "bob", nullptr)).changed);
  EXPECT_EQ(model_of(o.desk), model);
  EXPECT_EQ(o.call(put(first, "eve", "spam"), "")["labels"]["bought"], 1) << "another label";
  o.call(put(second, "bob", "ham"));
  Json found = Json::parse(o.desk.answers(first["ticket"], "").text());
  EXPECT_FALSE(found["open"]);
  EXPECT_EQ(found["answers"][0]["label"], "spam");
  EXPECT_EQ(found["answers"][0]["source"], "tool:1");
  EXPECT_EQ(o.call(put(first, "eve", nullptr))["labels"]["bought"], 2) << "not the last answer that was given";
  found = Json::parse(o.desk.answers(first["ticket"], "").text());
  EXPECT_TRUE(found["open"]);
  EXPECT_EQ(found["holder"], "tool");
  EXPECT_EQ(o.status()["annotators"][1]["answers"], 0);
  EXPECT_EQ(o.raw({{"do", "renew"}, {"lease", found["lease"]}}).verdict, Verdict::kDone);
  EXPECT_EQ(o.call(put(first, "eve", "spam"))["labels"]["bought"], 2);
  EXPECT_EQ(o.raw(put(first, "eve", "eggs")).verdict, Verdict::kUnusable);
  EXPECT_EQ(o.raw({{"do", "put"}, {"ticket", 99}, {"annotator", "eve"}, {"label", "spam"}, {"source", "t"}}).verdict,
            Verdict::kUnknown);
  EXPECT_EQ(
      o.raw({{"do", "put"}, {"ticket", 99}, {"example", "2"}, {"annotator", "eve"}, {"label", "spam"}, {"source", "t"}})
          .verdict,
      Verdict::kUnknown)
      << "a ticket that is issued later must not have an answer already";
  for (Json q = plain.next("eve"); !q.is_null(); q = plain.next("eve"))
    plain.answer(q, q["example"] == "m1" ? "spam" : "ham");
  EXPECT_EQ(o.post("m3", "ann", "win money")["label"], plain.post("m3", "ann", "win money")["label"]);
  Desk again(spam({"2"}));
  for (const std::string& event : o.journal) again.apply(event);
  EXPECT_EQ(model_of(again), model_of(o.desk));
  EXPECT_EQ(again.save(), o.desk.save());
}

TEST(DeskAnswers, AnAnswerThatIsPutNeedsNoLease) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  const Json q = o.next("tool");
  o.now += 1000;
  const Json taken = o.next("bob");
  EXPECT_EQ(o.raw(put(q, "eve", "spam")).verdict, Verdict::kDone) << "eve is the first";
  EXPECT_EQ(o.answer(taken, "ham").verdict, Verdict::kGone);
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
}

TEST(DeskAnswers, AnAnswerToAQuestionThatWasWithdrawnIsAGift) {
  Office o(spam({"1"}));
  o.post("m1", "ann", "win money");
  const Json q = o.next("tool");
  o.call({{"do", "limits"}, {"labels", 0}});
  EXPECT_EQ(o.desk.answers(q["ticket"], q["example"]).verdict, Verdict::kUnknown);
  EXPECT_FALSE(o.raw(put(q, "eve", nullptr)).changed);
  EXPECT_EQ(o.call(put(q, "eve", "spam"))["labels"]["bought"], 0);
  EXPECT_FALSE(o.raw(put(q, "eve", "spam")).changed);
  EXPECT_EQ(o.desk.model().session.labels().size(), 1U);
  o.call(put(q, "eve", "ham"));
  EXPECT_EQ(o.desk.model().session.labels()[0].answer(), kNo);
  Desk saved(spam({"1"}), Model::from_bytes(model_of(o.desk)), o.desk.save());
  EXPECT_EQ(saved.save(), o.desk.save());
  o.call(put(q, "eve", nullptr));
  EXPECT_EQ(o.desk.model().session.labels().size(), 0U);
  EXPECT_EQ(o.status()["gifts"], 0);
  o.call({{"do", "limits"}, {"labels", 1}});
  const Json again = o.next("tool");
  EXPECT_EQ(again["example"], "m1") << "it is in the pool again";
  EXPECT_EQ(o.call(put(q, "eve", "spam"))["ticket"], again["ticket"]) << "by its example";
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
  o.call({{"do", "forget_example"}, {"example", "m1"}});
  EXPECT_EQ(o.raw(put(q, "eve", "spam")).verdict, Verdict::kGone) << "what was forgotten does not come back";
}

TEST(DeskAnswers, AnAuditThatWasPutIsChangedAndTakenBackLikeOthers) {
  DeskSettings settings = spam({"200"});
  settings.learner = "cohort";
  settings.learning.audit = 0.3;
  Office o(settings);
  Json audit;
  for (int i = 0; i < 400 && audit.is_null(); ++i) {
    o.post("m" + std::to_string(i), "ann", i % 2 == 0 ? "win money now" : "lunch at noon");
    if (const Json q = o.next("tool"); !q.is_null()) {
      if (o.desk.explain(q["ticket"].get<std::uint64_t>()).text().find("\"audit\":true") != std::string::npos) audit = q;
      o.call(put(q, "eve", q["fields"][0]["value"] == "win money now" ? "spam" : "ham"));
    }
  }
  ASSERT_FALSE(audit.is_null());
  const Audit& measured = *o.desk.model().session.audit();
  const std::uint64_t scored = measured.scored();
  const double accuracy = measured.recent().value;
  const bool win = audit["fields"][0]["value"] == "win money now";
  EXPECT_EQ(o.raw(put(audit, "eve", win ? "ham" : "spam")).verdict, Verdict::kDone);
  EXPECT_EQ(measured.scored(), scored);
  EXPECT_NE(measured.recent().value, accuracy) << "the other label makes the prediction wrong, or right";
  EXPECT_EQ(o.raw(put(audit, "eve", nullptr)).verdict, Verdict::kDone);
  EXPECT_EQ(measured.scored(), scored - 1);
  EXPECT_EQ(o.raw(put(audit, "eve", win ? "spam" : "ham")).verdict, Verdict::kDone);
  EXPECT_EQ(measured.scored(), scored);
  EXPECT_EQ(measured.recent().value, accuracy);
}

TEST(DeskAnswers, LimitsOfAnAnnotatorHoldForADay) {
  DeskSettings settings = spam();
  settings.desk.labels_per_annotator = 2;
  Office o(settings);
  for (int i = 0; i < 4; ++i) o.post("m" + std::to_string(i), "ann", "mail " + std::to_string(i));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(o.answer(o.next("eve"), "ham").verdict, Verdict::kDone);
  EXPECT_EQ(o.next("eve"), nullptr);
  EXPECT_NE(o.next("bob"), nullptr);
  o.now += 86'401;
  EXPECT_NE(o.next("eve"), nullptr);
}

TEST(DeskAnswers, LimitsOfAnAnnotatorCountLeasesAndAnswersHeldBack) {
  for (const double hold : {0.0, 1000.0}) {
    DeskSettings settings = spam();
    settings.desk.labels_per_annotator = 3;
    settings.desk.hold = hold;
    Office o(settings);
    for (int i = 0; i < 20; ++i) o.post("m" + std::to_string(i), "ann", "mail " + word(i));
    std::set<std::string> leases;
    for (int i = 0; i < 10; ++i)
      leases.insert(o.call({{"do", "next"}, {"annotator", "eve"}, {"hold", 10}})["question"]["lease"].get<std::string>());
    EXPECT_EQ(leases.size(), 3u) << "a question more could not be answered";
    o.now += 1000;  // the leases run out, and nobody else has the questions
    for (int i = 20; i < 23; ++i) o.post("m" + std::to_string(i), "ann", "mail " + word(i));
    for (int i = 0; i < 10; ++i)
      leases.insert(o.call({{"do", "next"}, {"annotator", "eve"}, {"hold", 10}})["question"]["lease"].get<std::string>());
    EXPECT_EQ(leases.size(), 6u);
    std::size_t saved = 0, refused = 0;
    for (const std::string& lease : leases) {
      const DeskReply reply = o.raw({{"do", "answer"}, {"lease", lease}, {"label", "ham"}});
      saved += reply.verdict == Verdict::kDone;
      if (reply.verdict == Verdict::kConflict) refused += Json::parse(reply.text())["reason"] == "daily-limit";
      EXPECT_EQ(o.raw({{"do", "answer"}, {"lease", *leases.begin()}, {"label", "ham"}}).verdict, Verdict::kDone)
          << "sent again";
    }
    EXPECT_EQ(saved, 3u);
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(o.next("eve"), nullptr);
    const Json undone = o.call({{"do", "undo"}, {"annotator", "eve"}});
    EXPECT_EQ(o.answer(undone["question"], "spam").verdict, Verdict::kDone) << "in place of the one taken back";
    EXPECT_EQ(o.next("eve"), nullptr);
  }
}

/// Also of an answer that came before the next example.
TEST(DeskAnswers, AnotherAnswerAfterAnUndoIsLearnedAsIfItWereTheFirst) {
  for (const char* learner : {"cohort(query=always)", "cohort(query=margin(b=0.5))"})
    for (const std::string how : {"undo", "put", "batch"}) {
      SCOPED_TRACE(learner + (", " + how));
      DeskSettings settings = spam();
      settings.learner = learner;
      Office o(settings), straight(settings);
      const std::vector<std::string> texts{"win money now", "lunch at noon", "win a prize", "dinner at noon"};
      for (std::size_t n = 0; n < texts.size(); ++n) {
        const std::string id = "m" + std::to_string(n), right = n % 2 == 0 ? "spam" : "ham",
                          wrong = n % 2 == 0 ? "ham" : "spam";
        if (how == "batch") {
          if (n > 0) break;
          std::string lines;
          for (std::size_t i = 0; i < texts.size(); ++i)
            lines += Json{{"id", "m" + std::to_string(i)}, {"text", texts[i]}}.dump() + "\n";
          for (Office* each : {&o, &straight}) each->call({{"do", "examples"}}, lines);
        } else {
          for (Office* each : {&o, &straight}) each->post(id, "ann", texts[n]);
        }
        const Json q = o.next("eve"), same = straight.next("eve");
        ASSERT_NE(q, nullptr);
        ASSERT_EQ(q["example"], same["example"]);
        straight.answer(same, right);
        o.answer(q, wrong);
        if (how == "put") {
          o.call({{"do", "put"}, {"annotator", "eve"}, {"source", "x"}, {"ticket", q["ticket"]}, {"label", right}});
        } else {
          const Json again = o.call({{"do", "undo"}, {"annotator", "eve"}})["question"];
          o.answer(again, right);
        }
      }
      for (const std::string& text : texts) {
        const std::string line = Json{{"task", "ann"}, {"text", text}}.dump();
        const double margin = Json::parse(straight.desk.predict(line).text())["predictions"][0]["margin"];
        EXPECT_NE(margin, 0.0);
        EXPECT_EQ(Json::parse(o.desk.predict(line).text())["predictions"][0]["margin"], margin) << text;
      }
    }
}

/// Of classes one example of several may be asked about. What takes the answer's place is one of that example, too.
TEST(DeskAnswers, OfClassesAnAnswerInPlaceOfAnotherIsOneLabelAgainAlsoOfATaskWithoutRoom) {
  DeskSettings settings = spam();
  settings.positive = settings.negative = "";
  settings.classes = {"ham", "spam", "eggs"};
  settings.learner = "cohort(query=random(p=1e-9))";  // asks about nothing by itself
  settings.learning.memory = ByteSize{300'000};
  settings.desk.pool = 3;
  Office o(settings);
  const Session& session = o.desk.model().session;
  for (int i = 0; i == 0 || session.known_task("t" + std::to_string(i - 1)) != kUntracked; ++i) {
    ASSERT_LT(i, 100'000);
    o.post("m" + std::to_string(i), "t" + std::to_string(i), word(i % 50));
  }
  for (int i = 0; i < 3; ++i) o.post("last" + std::to_string(i), "zoe", "win money");  // fill the pool
  ASSERT_EQ(session.known_task("zoe"), kUntracked);
  const Json q = o.next("eve");
  ASSERT_EQ(q["task"], "zoe");
  o.answer(q, "ham");
  const std::size_t labels = session.labels().size();
  o.call({{"do", "put"}, {"annotator", "eve"}, {"source", "x"}, {"ticket", q["ticket"]}, {"label", "eggs"}});
  EXPECT_EQ(session.labels().size(), labels);
}

TEST(DeskAnswers, OfClassesAnAnswerInPlaceOfAnotherIsOneLabelAgain) {
  DeskSettings settings = spam();
  settings.positive = settings.negative = "";
  settings.classes = {"ham", "spam", "eggs"};
  settings.learner = "cohort(query=random(p=1e-9))";  // asks about nothing by itself
  Office o(settings), straight(settings);
  for (Office* each : {&o, &straight}) each->post("m1", "ann", "win money");
  const Json q = o.next("eve");
  o.answer(q, "ham");
  straight.answer(straight.next("eve"), "eggs");
  const auto learned = [](const Desk& desk) {
    std::vector<std::pair<Task, double>> out;
    const KeptLabels& labels = desk.model().session.labels();
    for (std::size_t i = 0; i < labels.size(); ++i) out.push_back({labels[i].task, labels[i].y});
    return out;
  };
  ASSERT_EQ(learned(straight.desk), (std::vector<std::pair<Task, double>>{{2, 1}})) << "a yes about the class";
  o.call({{"do", "put"}, {"annotator", "eve"}, {"source", "x"}, {"ticket", q["ticket"]}, {"label", "eggs"}});
  EXPECT_EQ(learned(o.desk), learned(straight.desk));
  o.call({{"do", "undo"}, {"annotator", "eve"}});
  EXPECT_TRUE(learned(o.desk).empty());
  Desk loaded(settings, Model::from_bytes(o.desk.model().to_bytes()), o.desk.save());
  o.answer(o.next("eve"), "eggs");
  EXPECT_EQ(learned(o.desk), learned(straight.desk));
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
  for (const std::string& event : {o.journal[o.journal.size() - 2], o.journal.back()}) loaded.apply(event);
  EXPECT_EQ(model_of(loaded), model_of(o.desk));
}

TEST(DeskAnswers, WithoutKeptLabelsAnAnswerIsHeldBackSoThatItCanBeTakenBack) {
  for (const bool held : {true, false}) {
    DeskSettings settings = spam();
    settings.learning.keep_labels = ByteSize{0};
    if (!held) settings.desk.hold = 0;
    Office o(settings);
    o.post("m1", "ann", "win money");
    o.answer(o.next("eve"), "spam");
    const DeskReply undone = o.raw({{"do", "undo"}, {"annotator", "eve"}});
    EXPECT_EQ(undone.verdict, held ? Verdict::kDone : Verdict::kConflict) << undone.text();
    EXPECT_EQ(undone.text().find("--keep-labels") != std::string::npos, !held) << undone.text();
  }
}

TEST(DeskAnswers, ALabelPostedForAQuestionThatWasTakenBackIsAGift) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  o.answer(o.next("eve"), "ham");
  o.call({{"do", "undo"}, {"annotator", "eve"}});
  EXPECT_TRUE(o.post("m1", "ann", "win money", "spam").value("learned", false));
  EXPECT_EQ(o.next("eve"), nullptr);
  EXPECT_EQ(o.status()["gifts"], 1);
}

}  // namespace
}  // namespace quorate
