// The desk where memory ends: what a server that was killed replays is what it did.
#include <gtest/gtest.h>

#include <optional>

#include "quorate/base/rng.h"
#include "quorate/desk/desk.h"

namespace quorate {
namespace {

using Json = nlohmann::json;

struct FullSetting {
  std::string learner;
  std::uint64_t limit;
  bool classes;
};

std::vector<FullSetting> full_settings() {
  std::vector<FullSetting> out;
  for (const char* learner : {"perceptron", "cohort(store=exact)", "cohort", "cohort(query=always, scale=idf)", "cmtl",
                              "amtl", "kernel-perceptron(query=always)", "budget-random(budget=0)"})
    for (const std::uint64_t limit : {30'000u, 60'000u, 100'000u})
      for (const bool classes : {false, true})
        if (!classes || std::string(learner).find("mtl") == std::string::npos) out.push_back({learner, limit, classes});
  for (const std::uint64_t limit : {150'000u, 300'000u})
    out.push_back({"peer", limit, false}), out.push_back({"amlc", limit, false});
  return out;
}

class FullDesk : public testing::TestWithParam<std::size_t> {};

TEST_P(FullDesk, WhatIsReplayedFromAnyMomentIsWhatHappened) {
  const FullSetting setting = full_settings()[GetParam()];
  DeskSettings settings;
  settings.learner = setting.learner;
  settings.features.bits = 0;
  settings.learning.memory = ByteSize{setting.limit};
  std::vector<std::string> choices{"ham", "spam"};
  if (setting.classes)
    settings.classes = choices = {"a", "b", "c", "d"};
  else
    settings.negative = choices[0], settings.positive = choices[1];
  Rng rng = make_rng(28'000 + GetParam(), 0);
  const auto draw = [&](std::uint64_t n) { return below(n, rng); };
  const std::uint64_t words_there_are = GetParam() % 2 == 0 ? 300 : 3'000;
  const auto word = [&] {  // of letters, as digits are none
    std::string out = "w";
    for (std::uint64_t n = draw(words_there_are); n > 0; n /= 26) out += static_cast<char>('a' + n % 26);
    return out;
  };
  std::optional<Desk> desk;
  try {
    desk.emplace(settings);
  } catch (const MemoryError&) {
    GTEST_SKIP() << "the limit holds no such model";
  }

  struct Done {
    std::string event, reply;
    std::size_t bytes;
  };
  std::vector<Done> journal;
  struct Snapshot {
    std::size_t at;
    std::string model, state;
  };
  std::vector<Snapshot> snapshots;
  std::vector<Json> asked;
  std::size_t posted = 0, refused = 0;
  double now = 1'000'000;
  const auto send = [&](Json event, const std::string& lines = "") {
    event["at"] = now += 1;
    std::string text = event.dump();
    if (!lines.empty()) text += "\n" + lines;
    const DeskReply reply = desk->apply(text);
    refused += reply.verdict == Verdict::kNoMemory;
    EXPECT_NE(reply.verdict, Verdict::kUnavailable) << reply.text();
    if (reply.changed) journal.push_back({text, reply.text(), desk->model().session.model_bytes()});
    EXPECT_EQ(desk->model().session.broken(), "") << text;
    return Json::parse(reply.text());
  };
  for (int step = 0; step < 160; ++step) {
    if (step % 20 == 7) snapshots.push_back({journal.size(), desk->model().to_bytes(), desk->save()});
    const std::uint64_t kind = draw(11);
    if (kind < 5) {
      std::string lines;
      for (std::uint64_t n = draw(2) == 0 ? 1 : 10; n > 0; --n) {
        std::string words = word();
        for (std::uint64_t more = draw(2) == 0 ? 2 : 25; more > 0; --more) words += " " + word();
        Json example{{"id", "m" + std::to_string(posted)}, {"task", "u" + std::to_string(posted % 150)}, {"text", words}};
        if (draw(4) == 0) example["label"] = choices[draw(choices.size())];
        ++posted;
        lines += example.dump() + "\n";
      }
      send({{"do", "examples"}}, lines);
    } else if (kind < 8) {
      const Json reply = send({{"do", "next"}, {"annotator", "ann"}});
      if (reply.contains("question") && !reply["question"].is_null()) asked.push_back(reply["question"]);
      if (!asked.empty() && draw(4) > 0)
        send({{"do", "answer"}, {"lease", asked.back()["lease"]}, {"label", choices[draw(choices.size())]}});
    } else if (kind == 8 && !asked.empty()) {  // another label
      const Json& question = asked[asked.size() - 1 - draw(std::min<std::size_t>(asked.size(), 8))];
      send({{"do", "put"},
            {"annotator", "ann"},
            {"source", "s" + std::to_string(step)},
            {"ticket", question["ticket"]},
            {"example", question["example"]},
            {"label", choices[draw(choices.size())]}});
    } else if (kind == 9) {
      send({{"do", "undo"}, {"annotator", "ann"}});
    } else if (draw(2) == 0) {
      send({{"do", "forget_example"}, {"example", "m" + std::to_string(draw(posted + 1))}});
    } else {
      send({{"do", "forget_task"}, {"task", "u" + std::to_string(draw(150))}});
    }
    ASSERT_LE(desk->model().session.peak_bytes(), setting.limit);
  }
  RecordProperty("refused", static_cast<int>(refused));
  const std::string model = desk->model().to_bytes(), state = desk->save();
  const auto replay = [&](std::size_t from, Desk out) {
    for (std::size_t i = from; i < journal.size(); ++i) {
      const std::string reply = out.apply(journal[i].event).text();
      ASSERT_EQ(reply, journal[i].reply) << "event " << i << " of " << journal.size() << " after " << from;
      ASSERT_EQ(out.model().session.model_bytes(), journal[i].bytes) << "event " << i << " after " << from;
    }
    EXPECT_TRUE(out.model().to_bytes() == model) << "after " << from;
    EXPECT_EQ(out.save(), state);
  };
  replay(0, Desk(settings));
  for (const Snapshot& s : snapshots) {
    replay(s.at, Desk(settings, Model::from_bytes(s.model), s.state));
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Desk, FullDesk, testing::Range(std::size_t{0}, full_settings().size()), [](const auto& param) {
  const FullSetting s = full_settings()[param.param];
  std::string name = s.learner + "_" + std::to_string(s.limit) + (s.classes ? "_classes" : "");
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

}  // namespace
}  // namespace quorate
