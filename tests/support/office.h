// A desk as tests use it.
#pragma once
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "quorate/desk/desk.h"

namespace quorate::test {

using Json = nlohmann::json;

inline DeskSettings spam(std::vector<std::string> labels = {}) {
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
  Json call(Json event, const std::string& body = "", Verdict verdict = Verdict::kDone) {
    const DeskReply out = raw(std::move(event), body);
    EXPECT_EQ(out.verdict, verdict) << out.text();
    return Json::parse(out.text());
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
  Json status() const { return Json::parse(desk.status().text()); }

  Desk desk;
  double now = 1'000'000;
  std::vector<std::string> journal;
};

inline std::string model_of(const Desk& desk) { return desk.model().to_bytes(); }

/// Letters only: the tokenizer drops digits.
inline std::string word(int n) {
  std::string out;
  for (; out.size() < 4 || n > 0; n /= 26) out += static_cast<char>('a' + n % 26);
  return out;
}

}  // namespace quorate::test
