#include "quorate/desk/desk.h"

#include <gtest/gtest.h>

#include "support/office.h"

namespace quorate {
namespace {

using Json = nlohmann::json;
using test::Office;
using test::spam;

TEST(DeskReports, WhateverIsPostedCanBeShown) {
  Office o(spam());
  for (const char* line : {"{}", R"({"id":"1","a/b~c":"x","n":{"o":{}},"l":[1,[2]],"e":""})", R"({"":1})"})
    o.call({{"do", "examples"}}, line);
  for (Json q = o.next("eve"); !q.is_null(); q = o.next("eve")) EXPECT_EQ(o.answer(q, "ham").verdict, Verdict::kDone);
  EXPECT_EQ(o.status()["labels"]["waiting"], 0);
  EXPECT_TRUE(o.post("x", std::string(5'000, 't'), "long")["error"].is_string());
}

TEST(DeskReports, ClassesAreAskedAsClasses) {
  DeskSettings settings = spam();
  settings.positive = settings.negative = "";
  settings.classes = {"sport", "news", "art"};
  Office o(settings);
  o.post("1", "ann", "goal and match");
  const Json q = o.next("eve");
  EXPECT_EQ(q["choices"], Json({"sport", "news", "art"}));
  EXPECT_EQ(o.answer(q, "sport").verdict, Verdict::kDone);
  EXPECT_EQ(o.post("2", "ann", "goal and match")["label"], "sport");
  const Json why = Json::parse(o.desk.explain(o.next("eve")["ticket"].get<std::uint64_t>()).text());
  EXPECT_FALSE(why["features"].empty());
}

TEST(DeskReports, AuditsAreExplainedLikeOthersAndMeasure) {
  DeskSettings settings = spam({"200"});
  settings.learner = "cohort";
  settings.learning.audit = 0.3;
  Office o(settings);
  std::size_t answered = 0;
  for (int i = 0; i < 400; ++i) {
    o.post("m" + std::to_string(i), "ann", i % 2 == 0 ? "win money now" : "lunch at noon");
    for (Json q = o.next("eve"); !q.is_null(); q = o.next("eve")) {
      EXPECT_EQ(o.desk.explain(q["ticket"].get<std::uint64_t>()).verdict, Verdict::kDone);
      ++answered;
      EXPECT_EQ(o.answer(q, q["fields"][0]["value"] == "win money now" ? "spam" : "ham").verdict, Verdict::kDone);
      EXPECT_LE(o.status()["labels"]["bought"], 200);
    }
  }
  EXPECT_GT(o.status()["labels"]["audits"], 3);
  EXPECT_LT(o.status()["labels"]["audits"], answered);
  EXPECT_EQ(o.status()["accuracy"]["audits"].is_number(), true);
}

TEST(DeskReports, TheStatusHasAllLimitsOfLabels) {
  auto settings = test::spam({"500", "20/day"});
  settings.learning.labels_per_task = 7;
  const Json labels = Office(settings).status()["labels"];
  EXPECT_EQ(labels["limit"], 500);
  EXPECT_EQ(labels["rate"], "20/day");
  EXPECT_EQ(labels["per_task"], 7);
  EXPECT_EQ(Office(test::spam()).status()["labels"]["rate"], nullptr);
}

}  // namespace
}  // namespace quorate
