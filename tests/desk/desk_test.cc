#include "quorate/desk/desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "quorate/base/hash.h"
#include "quorate/base/rng.h"

namespace quorate {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

DeskSettings spam(std::vector<std::string> labels = {}) {
  DeskSettings out;
  out.positive = "spam";
  out.negative = "ham";
  out.learner = "cohort(query=always)";
  out.learning.labels = std::move(labels);
  return out;
}

/// A desk with its clock and its journal.
struct Office {
  explicit Office(const DeskSettings& settings) : desk(settings) {}

  DeskReply raw(Json event, const std::string& body = "") {
    event["at"] = now;
    std::string text = event.dump();
    if (!body.empty()) text += "\n" + body;
    const DeskReply out = desk.apply(text);
    if (out.changed) journal.push_back(text);
    return out;
  }
  Json call(Json event, const std::string& body = "", int status = 200) {
    const DeskReply out = raw(std::move(event), body);
    EXPECT_EQ(out.status, status) << out.body;
    return Json::parse(out.body);
  }
  Json post(const std::string& id, const std::string& task, const std::string& text, const std::string& label = "") {
    Json example{{"id", id}, {"task", task}, {"text", text}};
    if (!label.empty()) example["label"] = label;
    return call({{"do", "examples"}}, example.dump())["examples"][0];
  }
  Json next(const std::string& who) { return call({{"do", "next"}, {"annotator", who}})["question"]; }
  DeskReply answer(const Json& question, const std::string& label) {
    return raw({{"do", "answer"}, {"lease", question["lease"]}, {"label", label}, {"seconds", 2}});
  }
  Json status() const { return Json::parse(desk.status().body); }

  Desk desk;
  double now = 1'000'000;
  std::vector<std::string> journal;
};

std::string model_of(const Desk& desk) { return desk.model().to_bytes(); }

TEST(Desk, AsksAndLearnsAndIsPaidOnce) {
  Office o(spam({"2"}));
  EXPECT_TRUE(o.post("m1", "ann", "win money")["asked"]);
  const Json q = o.next("eve");
  EXPECT_EQ(q["example"], "m1");
  EXPECT_EQ(q["task"], "ann");
  EXPECT_EQ(q["choices"], Json({"ham", "spam"}));
  EXPECT_EQ(q["fields"][0]["value"], "win money");
  EXPECT_EQ(o.status()["labels"]["bought"], 0);
  EXPECT_EQ(o.answer(q, "spam").status, 200);
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
  EXPECT_EQ(o.post("m2", "ann", "win money")["label"], "spam");
  EXPECT_FALSE(o.post("m3", "ann", "win money")["asked"]) << "two labels: one given, one waits";
  EXPECT_EQ(o.answer(o.next("eve"), "spam").status, 200);
  EXPECT_EQ(o.next("eve"), nullptr);
  EXPECT_THAT(o.raw({{"do", "next"}, {"annotator", "eve"}}).body, HasSubstr("budget is spent"));
}

TEST(Desk, AnExampleIsKnownByItsId) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  const std::string before = model_of(o.desk);
  EXPECT_TRUE(o.post("m1", "ann", "win money")["known"]);
  EXPECT_EQ(model_of(o.desk), before);
  EXPECT_EQ(o.status()["examples"], 1);
}

TEST(Desk, ALeaseAnswersOnceAndBelongsToOne) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  const Json q = o.next("eve");
  EXPECT_EQ(o.next("bob"), nullptr) << "eve holds it";
  EXPECT_EQ(o.answer(q, "eggs").status, 422);
  EXPECT_EQ(o.answer(q, "spam").status, 200);
  const std::string model = model_of(o.desk);
  EXPECT_EQ(o.answer(q, "spam").status, 200) << "sent again";
  EXPECT_EQ(o.answer(q, "ham").status, 409);
  EXPECT_EQ(model_of(o.desk), model);
  EXPECT_EQ(o.call({{"do", "renew"}, {"lease", q["lease"]}}, "", 410)["detail"].is_string(), true);
  EXPECT_EQ(o.raw({{"do", "answer"}, {"lease", "nonsense"}, {"label", "spam"}}).status, 404);
  EXPECT_EQ(o.raw({{"do", "answer"}, {"lease", "99-abc"}, {"label", "spam"}}).status, 410);
}

TEST(Desk, AnExpiredLeaseGoesToAnotherAndALateAnswerCountsIfNobodyElseHasIt) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  o.post("m2", "ann", "lunch");
  const Json late = o.next("eve");
  o.now += 1000;
  EXPECT_EQ(o.answer(late, "spam").status, 200) << "nobody else got it";
  const Json lost = o.next("eve");
  o.now += 1000;
  const Json taken = o.next("bob");
  EXPECT_EQ(taken["ticket"], lost["ticket"]);
  EXPECT_EQ(o.answer(lost, "ham").status, 410);
  EXPECT_EQ(o.answer(taken, "ham").status, 200);
  o.post("m3", "ann", "dinner");
  const Json renewed = o.next("eve");
  o.now += 200;
  EXPECT_EQ(o.raw({{"do", "renew"}, {"lease", renewed["lease"]}}).status, 200);
  o.now += 200;
  EXPECT_EQ(o.next("bob"), nullptr);
}

TEST(Desk, WhoeverComesBackGetsTheQuestionsTheyHold) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  const Json q = o.next("eve");
  EXPECT_EQ(o.next("eve")["lease"], q["lease"]);
  EXPECT_EQ(o.next("bob"), nullptr);
}

TEST(Desk, ASkippedQuestionGoesToSomebodyElse) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  const Json q = o.next("eve");
  EXPECT_EQ(o.raw({{"do", "skip"}, {"lease", q["lease"]}}).status, 200);
  EXPECT_EQ(o.raw({{"do", "skip"}, {"lease", q["lease"]}}).status, 410);
  EXPECT_EQ(o.next("eve"), nullptr);
  EXPECT_EQ(o.next("bob")["ticket"], q["ticket"]);
}

TEST(Desk, UndoIsExactAndTheQuestionComesBack) {
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
  EXPECT_EQ(o.answer(undone["question"], "ham").status, 200);
  EXPECT_EQ(o.desk.model().session.labels().size(), 4u);
  EXPECT_EQ(o.status()["labels"]["bought"], 4) << "and is paid once";
  for (int i = 0; i < 4; ++i) EXPECT_EQ(o.raw({{"do", "undo"}, {"annotator", "eve"}}).status, 200) << i;
  EXPECT_EQ(o.raw({{"do", "undo"}, {"annotator", "eve"}}).status, 409);
  EXPECT_EQ(o.desk.model().session.labels().size(), 0u);
}

TEST(Desk, TheModelKeepsWhoGaveTheLabelItLearned) {
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
  EXPECT_THAT(o.desk.labels(0, 10), HasSubstr("\"annotator\":\"bob\""));
}

TEST(Desk, AnAnswerIsHeldBackFromALearnerThatCannotUnlearn) {
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
  EXPECT_EQ(late.status, 409);
  EXPECT_THAT(late.body, HasSubstr("peer cannot unlearn"));
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
  o.answer(o.next("eve"), "spam");
  o.now += 100;
  EXPECT_EQ(o.raw({{"do", "answer"}, {"lease", "0-x"}, {"label", "spam"}}).status, 410);
  EXPECT_EQ(o.desk.model().session.total().labels, 2u) << "an event that is refused brings the time, too";
  EXPECT_EQ(o.status()["labels"]["bought"], 2);
  Desk again(settings);
  for (const std::string& event : o.journal) EXPECT_TRUE(again.apply(event).changed);
  EXPECT_EQ(model_of(again), model_of(o.desk));
  EXPECT_EQ(again.save(), o.desk.save());
}

TEST(Desk, AHeldAnswerIsSettledForgottenAndSaved) {
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

/// Letters only: the tokenizer drops digits.
std::string word(int n) {
  std::string out;
  for (; out.size() < 4 || n > 0; n /= 26) out += static_cast<char>('a' + n % 26);
  return out;
}

TEST(Desk, AFullSessionAsksNoMoreRatherThanLoseAnAnswer) {
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
        if (o.answer(q, label).status == 200) saved.emplace(q["example"].get<std::string>(), label);
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

TEST(Desk, QuestionsThatEverybodySkippedMakeRoom) {
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
  EXPECT_EQ(o.answer(q, "ham").status, 200);
  EXPECT_EQ(o.desk.model().session.labels().size(), 1u);
}

TEST(Desk, ALearnerWithoutMemoryTakesNoMoreAnswersAndSaysSo) {
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
      const Json q = Json::parse(next.body)["question"];
      o.now += 1;
      if (q.is_null()) {
        said = Json::parse(next.body)["reason"];
        break;
      }
      const DeskReply reply = o.answer(q, i % 2 == 0 ? "spam" : "ham");
      saved += reply.status == 200;
      refused += reply.status == 507;
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

TEST(Desk, AnswersHeldBackThatFindNoMemoryAreLearnedFromOnceSomethingIsForgotten) {
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
    saved += o.answer(q, i % 2 == 0 ? "spam" : "ham").status == 200;
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

TEST(Desk, LargeExamplesFillNoMemoryWithoutEnd) {
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

TEST(Desk, AFloodOfExamplesLeavesTheBudgetToTheAnswers) {
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

TEST(Desk, APoolPostedAtOnceIsAskedToTheEndOfTheBudget) {
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
    EXPECT_EQ(o.answer(q, hash64(q["example"].get<std::string>()) % 2 == 0 ? "spam" : "ham").status, 200);
  }
  EXPECT_EQ(asked.size(), 40u) << "nothing can be learned here, so the whole budget is of use";
  EXPECT_EQ(o.desk.model().session.budget().bought(), 40u);
}

TEST(Desk, ABadLineSpoilsNoOther) {
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

TEST(Desk, WhateverIsPostedCanBeShown) {
  Office o(spam());
  for (const char* line : {"{}", R"({"id":"1","a/b~c":"x","n":{"o":{}},"l":[1,[2]],"e":""})", R"({"":1})"})
    o.call({{"do", "examples"}}, line);
  for (Json q = o.next("eve"); !q.is_null(); q = o.next("eve")) EXPECT_EQ(o.answer(q, "ham").status, 200);
  EXPECT_EQ(o.status()["labels"]["waiting"], 0);
  EXPECT_TRUE(o.post("x", std::string(5'000, 't'), "long")["error"].is_string());
}

TEST(Desk, ALowerLimitWithdrawsWhatWaits) {
  Office o(spam({"40"}));
  for (int i = 0; i < 30; ++i) o.post("m" + std::to_string(i), "ann", "mail " + std::to_string(i));
  const Json held = o.next("eve");
  o.answer(o.next("bob"), "ham");
  o.call({{"do", "limits"}, {"labels", 1}});
  EXPECT_EQ(o.desk.model().session.budget().bought(), 1u);
  EXPECT_EQ(o.next("bob"), nullptr);
  EXPECT_EQ(o.answer(held, "ham").status, 410);
  o.call({{"do", "limits"}, {"labels", 5}});
  EXPECT_NE(o.next("bob"), nullptr) << "the pool has them";
}

TEST(Desk, ALabelMayComeAfterItsExample) {
  Office o(spam({"40"}));
  o.post("m1", "ann", "win money");
  o.post("m2", "ann", "lunch");
  const Json held = o.next("eve");
  EXPECT_TRUE(o.post("m1", "ann", "win money", "spam")["learned"]);
  EXPECT_TRUE(o.post("m2", "ann", "lunch", "ham")["learned"]);
  EXPECT_EQ(o.status()["labels"]["waiting"], 0);
  EXPECT_EQ(o.desk.model().session.budget().bought(), 0u);
  EXPECT_EQ(o.status()["examples"], 2);
  EXPECT_EQ(o.answer(held, "ham").status, 410);
  EXPECT_TRUE(o.post("m1", "ann", "win money", "ham")["known"]) << "it has its label";
  o.call({{"do", "forget_example"}, {"example", "m1"}});
  EXPECT_EQ(o.desk.model().session.labels().size(), 1u) << "its gift went with it";
  EXPECT_FALSE(o.post("m1", "ann", "win money").contains("known")) << "a forgotten one may come again";
}

TEST(Desk, AGiftIsLearnedFromAndNotPaid) {
  Office o(spam({"1"}));
  EXPECT_TRUE(o.post("m1", "ann", "win money", "spam")["learned"]);
  EXPECT_EQ(o.status()["labels"]["bought"], 0);
  EXPECT_EQ(o.post("m2", "ann", "win money")["label"], "spam");
  EXPECT_THAT(o.post("m3", "ann", "x", "eggs")["error"].get<std::string>(), HasSubstr("expected one of ham, spam"));
}

TEST(Desk, SecondOpinionsAreComparedAndDisagreementsSettled) {
  DeskSettings settings = spam();
  settings.desk.opinions = 1;
  Office o(settings);
  o.post("m1", "ann", "win money");
  o.answer(o.next("eve"), "spam");
  EXPECT_EQ(o.next("eve"), nullptr) << "not to the same annotator";
  const Json second = o.next("bob");
  EXPECT_EQ(o.answer(second, "ham").status, 200);
  EXPECT_EQ(o.status()["disagreements"][0]["ticket"], second["ticket"]);
  EXPECT_EQ(o.status()["annotators"][0]["agreement"], 0.0);
  EXPECT_EQ(o.desk.model().session.labels()[0].answer(), kYes) << "the first is learned from";
  EXPECT_EQ(o.raw({{"do", "decide"}, {"ticket", second["ticket"]}, {"label", "ham"}}).status, 200);
  EXPECT_EQ(o.desk.model().session.labels()[0].answer(), kNo);
  EXPECT_TRUE(o.status()["disagreements"].empty());
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
}

TEST(Desk, AnUndoneSecondOpinionLeavesTheFirstAsItWas) {
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
  EXPECT_EQ(o.answer(first, "spam").status, 200) << "sent again";
  EXPECT_EQ(o.answer(first, "ham").status, 409);
}

TEST(Desk, ADecisionEndsWithTheAnswersItWasAbout) {
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
  EXPECT_EQ(o.answer(o.next("eve"), "spam").status, 200);
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

TEST(Desk, AnAnswerThatIsPutCountsOnceAndIsReplacedAndTakenBack) {
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
  EXPECT_EQ(o.call(put(first, "bob", "spam"), "", 409)["detail"].is_string(), true) << "eve answered it";
  EXPECT_FALSE(o.raw(put(first, "bob", nullptr)).changed);
  EXPECT_EQ(model_of(o.desk), model);
  EXPECT_EQ(o.call(put(first, "eve", "spam"), "")["labels"]["bought"], 1) << "another label";
  o.call(put(second, "bob", "ham"));
  Json found = Json::parse(o.desk.answers(first["ticket"], "").body);
  EXPECT_FALSE(found["open"]);
  EXPECT_EQ(found["answers"][0]["label"], "spam");
  EXPECT_EQ(found["answers"][0]["source"], "tool:1");
  EXPECT_EQ(o.call(put(first, "eve", nullptr))["labels"]["waiting"], 1) << "not the last answer that was given";
  found = Json::parse(o.desk.answers(first["ticket"], "").body);
  EXPECT_TRUE(found["open"]);
  EXPECT_EQ(found["holder"], "tool");
  EXPECT_EQ(o.status()["annotators"][1]["answers"], 0);
  EXPECT_EQ(o.raw({{"do", "renew"}, {"lease", found["lease"]}}).status, 200);
  EXPECT_EQ(o.call(put(first, "eve", "spam"))["labels"]["bought"], 2);
  EXPECT_EQ(o.raw(put(first, "eve", "eggs")).status, 422);
  EXPECT_EQ(o.raw({{"do", "put"}, {"ticket", 99}, {"annotator", "eve"}, {"label", "spam"}, {"source", "t"}}).status, 404);
  EXPECT_EQ(
      o.raw({{"do", "put"}, {"ticket", 99}, {"example", "2"}, {"annotator", "eve"}, {"label", "spam"}, {"source", "t"}})
          .status,
      404)
      << "a ticket that is issued later must not have an answer already";
  for (Json q = plain.next("eve"); !q.is_null(); q = plain.next("eve"))
    plain.answer(q, q["example"] == "m1" ? "spam" : "ham");
  EXPECT_EQ(o.post("m3", "ann", "win money")["label"], plain.post("m3", "ann", "win money")["label"]);
  Desk again(spam({"2"}));
  for (const std::string& event : o.journal) again.apply(event);
  EXPECT_EQ(model_of(again), model_of(o.desk));
  EXPECT_EQ(again.save(), o.desk.save());
}

TEST(Desk, AnAnswerThatIsPutNeedsNoLease) {
  Office o(spam());
  o.post("m1", "ann", "win money");
  const Json q = o.next("tool");
  o.now += 1000;
  const Json taken = o.next("bob");
  EXPECT_EQ(o.raw(put(q, "eve", "spam")).status, 200) << "eve is the first";
  EXPECT_EQ(o.answer(taken, "ham").status, 410);
  EXPECT_EQ(o.status()["labels"]["bought"], 1);
}

TEST(Desk, AnAnswerToAQuestionThatWasWithdrawnIsAGift) {
  Office o(spam({"1"}));
  o.post("m1", "ann", "win money");
  const Json q = o.next("tool");
  o.call({{"do", "limits"}, {"labels", 0}});
  EXPECT_EQ(o.desk.answers(q["ticket"], q["example"]).status, 404);
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
  EXPECT_EQ(o.raw(put(q, "eve", "spam")).status, 410) << "what was forgotten does not come back";
}

TEST(Desk, AnAuditThatWasPutStays) {
  DeskSettings settings = spam({"200"});
  settings.learner = "cohort";
  settings.learning.audit = 0.3;
  Office o(settings);
  Json audit;
  for (int i = 0; i < 400 && audit.is_null(); ++i) {
    o.post("m" + std::to_string(i), "ann", i % 2 == 0 ? "win money now" : "lunch at noon");
    if (const Json q = o.next("tool"); !q.is_null()) {
      if (o.desk.explain(q["ticket"].get<std::uint64_t>()).status == 403) audit = q;
      o.call(put(q, "eve", q["fields"][0]["value"] == "win money now" ? "spam" : "ham"));
    }
  }
  ASSERT_FALSE(audit.is_null());
  const std::string before = o.desk.save();
  const bool win = audit["fields"][0]["value"] == "win money now";
  EXPECT_EQ(o.raw(put(audit, "eve", win ? "ham" : "spam")).status, 409);
  EXPECT_EQ(o.raw(put(audit, "eve", nullptr)).status, 409);
  EXPECT_EQ(o.desk.save(), before);
}

TEST(Desk, AnExampleWithoutAnIdGetsOneOfItsOwn) {
  Office o(spam());
  o.post("#2", "ann", "win money");
  const Json made = o.call({{"do", "examples"}}, R"({"task":"ann","text":"lunch"})")["examples"][0];
  EXPECT_EQ(made["id"], "#3");
  EXPECT_FALSE(made.contains("known"));
  EXPECT_TRUE(o.post("#3", "ann", "lunch")["known"]) << "by the id that the reply gave it";
  o.call({{"do", "forget_example"}, {"example", "#3"}});
  EXPECT_EQ(o.status()["labels"]["waiting"], 1);
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

TEST(Desk, LimitsOfAnAnnotatorHoldForADay) {
  DeskSettings settings = spam();
  settings.desk.labels_per_annotator = 2;
  Office o(settings);
  for (int i = 0; i < 4; ++i) o.post("m" + std::to_string(i), "ann", "mail " + std::to_string(i));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(o.answer(o.next("eve"), "ham").status, 200);
  EXPECT_EQ(o.next("eve"), nullptr);
  EXPECT_NE(o.next("bob"), nullptr);
  o.now += 86'401;
  EXPECT_NE(o.next("eve"), nullptr);
}

TEST(Desk, LimitsOfAnAnnotatorCountLeasesAndAnswersHeldBack) {
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
      saved += reply.status == 200;
      if (reply.status == 409) refused += Json::parse(reply.body)["reason"] == "daily-limit";
      EXPECT_EQ(o.raw({{"do", "answer"}, {"lease", *leases.begin()}, {"label", "ham"}}).status, 200) << "sent again";
    }
    EXPECT_EQ(saved, 3u);
    EXPECT_GT(refused, 0u);
    EXPECT_EQ(o.next("eve"), nullptr);
    const Json undone = o.call({{"do", "undo"}, {"annotator", "eve"}});
    EXPECT_EQ(o.answer(undone["question"], "spam").status, 200) << "in place of the one taken back";
    EXPECT_EQ(o.next("eve"), nullptr);
  }
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
  EXPECT_EQ(o.raw({{"do", "forget_task"}, {"task", "zoe"}}).status, 404);
  o.call({{"do", "forget_example"}, {"example", "m2"}});
  EXPECT_EQ(o.desk.model().session.labels().size(), 0u);
  EXPECT_EQ(o.raw({{"do", "forget_example"}, {"example", "m9"}}).status, 404);
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
    EXPECT_NE(o.desk.predict(lines).body, never.desk.predict(lines).body) << "it was learned from";
    const Json forgotten = o.call({{"do", "forget_example"}, {"example", "secret"}})["forgotten"];
    EXPECT_EQ(forgotten, (Json{{"example", "secret"}, {"labels", 0}, {"left", Json::array()}}));
    EXPECT_EQ(o.desk.predict(lines).body, never.desk.predict(lines).body);
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

TEST(Desk, ClassesAreAskedAsClasses) {
  DeskSettings settings = spam();
  settings.positive = settings.negative = "";
  settings.classes = {"sport", "news", "art"};
  Office o(settings);
  o.post("1", "ann", "goal and match");
  const Json q = o.next("eve");
  EXPECT_EQ(q["choices"], Json({"sport", "news", "art"}));
  EXPECT_EQ(o.answer(q, "sport").status, 200);
  EXPECT_EQ(o.post("2", "ann", "goal and match")["label"], "sport");
  const Json why = Json::parse(o.desk.explain(o.next("eve")["ticket"].get<std::uint64_t>()).body);
  EXPECT_FALSE(why["features"].empty());
}

TEST(Desk, AuditsAreHiddenAndMeasure) {
  DeskSettings settings = spam({"200"});
  settings.learner = "cohort";
  settings.learning.audit = 0.3;
  Office o(settings);
  std::size_t hidden = 0;
  for (int i = 0; i < 400; ++i) {
    o.post("m" + std::to_string(i), "ann", i % 2 == 0 ? "win money now" : "lunch at noon");
    for (Json q = o.next("eve"); !q.is_null(); q = o.next("eve")) {
      hidden += o.desk.explain(q["ticket"].get<std::uint64_t>()).status == 403;
      EXPECT_EQ(o.answer(q, q["fields"][0]["value"] == "win money now" ? "spam" : "ham").status, 200);
      EXPECT_LE(o.status()["labels"]["bought"], 200);
    }
  }
  EXPECT_GT(hidden, 3u);
  EXPECT_EQ(o.status()["labels"]["audits"], hidden);
  EXPECT_EQ(o.status()["accuracy"]["audits"].is_number(), true);
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
    EXPECT_TRUE(Json::accept(out.body)) << text;
    EXPECT_EQ(model_of(o.desk), model) << text;
    EXPECT_EQ(o.desk.save(), state) << text;
  }
}

TEST(Desk, ARateByTimeHoldsForQuestionsFromThePool) {
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

}  // namespace
}  // namespace quorate
