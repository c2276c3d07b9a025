// Examples that workers judged: what counts, once, within the label budget.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/office.h"

namespace quorate {
namespace {

using test::Json;
using test::Office;

Json shared(const std::string& source, std::uint64_t read, const std::vector<std::uint64_t>& positions,
            const Json& probabilities) {
  return {{"do", "shared"}, {"source", source}, {"read", read}, {"positions", positions}, {"probabilities", probabilities}};
}

std::string shared_lines(std::uint64_t from, std::uint64_t until) {
  std::string out;
  for (std::uint64_t n = from; n < until; ++n)
    out += Json{{"id", "m" + std::to_string(n)},
                {"task", "t" + std::to_string(n % 3)},
                {"text", test::word(static_cast<int>(n % 7)) + " " + test::word(static_cast<int>(n % 5))}}
               .dump() +
           "\n";
  return out;
}

TEST(Elsewhere, ALineCountsOnce) {
  Office office(test::spam({"100"}));
  const Json first = office.call(shared("a", 5, {1, 3}, {nullptr, 0.5}), shared_lines(0, 2));
  EXPECT_EQ(first["asked"], 1);
  EXPECT_EQ(first["examples"][0]["position"], 1);
  EXPECT_FALSE(first["examples"][0]["asked"]);
  EXPECT_TRUE(first["examples"][1]["asked"]);
  const std::string before = office.desk.save();
  const std::string model = test::model_of(office.desk);
  const DeskReply again = office.raw(shared("a", 5, {1, 3}, {nullptr, 0.5}), shared_lines(0, 2));
  EXPECT_TRUE(again.done());
  EXPECT_FALSE(again.changed) << "it is not journalled";
  EXPECT_EQ(office.desk.save(), before);
  EXPECT_EQ(test::model_of(office.desk), model);
  // The tail of what was sent again counts; and so does another source.
  EXPECT_EQ(office.call(shared("a", 6, {3, 4}, {0.5, 1.0}), shared_lines(1, 3))["asked"], 1);
  EXPECT_EQ(office.call(shared("b", 1, {3}, Json::array({0.5})), shared_lines(3, 4))["asked"], 1);
  EXPECT_EQ(office.status()["examples"], 4);
  EXPECT_EQ(office.status()["workers"]["shared"], 4);
  EXPECT_EQ(office.status()["workers"]["examples_of_all"], 7);
  // An example that the desk has under its id counts once, whatever its source.
  EXPECT_EQ(office.call(shared("c", 1, {0}, Json::array({0.5})), shared_lines(0, 1))["asked"], 0);
  EXPECT_EQ(office.status()["examples"], 4);
}

TEST(Elsewhere, AsksNoMoreThanTheLabels) {
  auto settings = test::spam({"10"});
  settings.learning.labels_per_task = 6;
  settings.desk.open = 1000;
  Office office(settings);
  std::uint64_t asked = 0;
  for (std::uint64_t n = 0; n < 100; n += 5) {
    const Json reply =
        office.call(shared("s" + std::to_string(n % 2), n + 5, {n, n + 1, n + 2, n + 3, n + 4}, {1, 1, 0.5, 1, 1}),
                    shared_lines(n, n + 5));
    for (const Json& one : reply["examples"]) EXPECT_NE(one["asked"], one["refused"]);
    asked += reply["asked"].get<std::uint64_t>();
  }
  EXPECT_EQ(asked, 10U);
  while (true) {
    const Json question = office.next("ann");
    if (question.is_null()) break;
    office.answer(question, "spam");
  }
  EXPECT_EQ(office.status()["labels"]["bought"], 10);
}

TEST(Elsewhere, AnAnswerTeachesAsThatOfAnExamplePostedHere) {
  Office office(test::spam());
  office.call(shared("a", 9, {8}, Json::array({1.0})), shared_lines(0, 1));
  const Json question = office.next("ann");
  EXPECT_EQ(question["example"], "m0");
  EXPECT_TRUE(office.answer(question, "spam").done());
  EXPECT_EQ(office.status()["labels"]["bought"], 1);
  EXPECT_EQ(office.desk.posted_since_label(), 0U);
  office.call(shared("a", 12, {9, 10}, {nullptr, nullptr}), shared_lines(1, 3));
  EXPECT_EQ(office.desk.posted_since_label(), 2U);
  office.call({{"do", "undo"}, {"annotator", "ann"}});
  EXPECT_EQ(office.desk.model().session.labels().size(), 0U);
}

TEST(Elsewhere, ALabelOfItsOwnIsLearnedFrom) {
  Office office(test::spam());
  const std::string line = Json{{"id", "m"}, {"text", "free money"}, {"label", "spam"}}.dump() + "\n";
  office.call(shared("a", 1, {0}, Json::array({nullptr})), line);
  EXPECT_EQ(office.status()["gifts"], 1);
}

TEST(Elsewhere, BadLinesAreReportedAndPassedOver) {
  Office office(test::spam());
  const Json reply = office.call(shared("a", 4, {0, 1, 2, 3}, {1.0, 1.0, 1.0, 1.0}),
                                 shared_lines(0, 1) + "\n{broken\n" + shared_lines(1, 2));
  ASSERT_EQ(reply["examples"].size(), 4U);
  EXPECT_TRUE(reply["examples"][0]["asked"]);
  EXPECT_TRUE(reply["examples"][1].contains("error"));
  EXPECT_TRUE(reply["examples"][2].contains("error"));
  EXPECT_TRUE(reply["examples"][3]["asked"]);
  for (std::size_t n = 0; n < 4; ++n) EXPECT_EQ(reply["examples"][n]["position"], n);
  EXPECT_EQ(office.desk.sources().at("a").next, 4U);
}

TEST(Elsewhere, RefusesWhatDoesNotFit) {
  Office office(test::spam());
  const std::string before = office.desk.save();
  const auto refused = [&](const Json& event, const std::string& lines, Verdict verdict) {
    EXPECT_EQ(office.raw(event, lines).verdict, verdict) << event;
    EXPECT_EQ(office.desk.save(), before);
  };
  const std::string two = shared_lines(0, 2);
  refused(shared("a", 1, {1}, {nullptr, nullptr}), two, Verdict::kMalformed);
  refused(shared("a", 1, {1, 2, 3}, {nullptr, nullptr}), two, Verdict::kMalformed);
  refused(shared("a", 1, {1, 1}, {nullptr, nullptr}), two, Verdict::kMalformed);
  refused(shared("a", 1, {2, 1}, {nullptr, nullptr}), two, Verdict::kMalformed);
  refused(shared("a", 1, {1, 2}, {0.0, nullptr}), two, Verdict::kMalformed);
  refused(shared("a", 1, {1, 2}, {1.5, nullptr}), two, Verdict::kMalformed);
  refused(shared("a", 1, {1, 2}, {"1", nullptr}), two, Verdict::kMalformed);
  refused(shared("a", 1, {1, 2}, {nullptr, nullptr}), two.substr(0, two.size() - 1), Verdict::kMalformed);
  Json event = shared("a", 1, {}, Json::array());
  event["positions"] = {1, -1};
  refused(event, two, Verdict::kMalformed);
  event["positions"] = {1, ~std::uint64_t{0}};
  refused(event, two, Verdict::kMalformed);
  event["positions"] = 7;
  refused(event, two, Verdict::kMalformed);

  auto classes = test::spam();
  classes.positive.clear();
  classes.negative.clear();
  classes.classes = {"a", "b", "c"};
  Office of_classes(classes);
  EXPECT_EQ(of_classes.raw(shared("a", 1, {1, 2}, {nullptr, nullptr}), two).verdict, Verdict::kMalformed);
  const Json none = nullptr;
  const Json reply = of_classes.call(shared("a", 3, {1, 2}, {none, 0.5, 1, none, none, none}), two);
  EXPECT_EQ(reply["asked"], 1) << "one question, about two classes";
  EXPECT_TRUE(reply["examples"][0]["asked"]);
  EXPECT_FALSE(reply["examples"][1]["asked"]);
  EXPECT_EQ(of_classes.status()["labels"]["waiting"], 1) << "the class answers both";
}

TEST(Elsewhere, IsSavedAndContinued) {
  const auto settings = test::spam({"20"});
  Office office(settings);
  for (std::uint64_t n = 0; n < 30; n += 3) {
    ++office.now;
    office.call(shared("s" + std::to_string(n % 2), n + 3, {n, n + 1, n + 2}, {nullptr, 0.7, nullptr}),
                shared_lines(n, n + 3));
    const Json question = office.next("ann");
    if (!question.is_null()) office.answer(question, n % 2 == 0 ? "spam" : "ham");
  }
  for (std::size_t cut = 0; cut <= office.journal.size(); cut += 4) {
    Desk before(settings);
    for (std::size_t n = 0; n < cut; ++n) before.apply(office.journal[n]);
    Desk after(settings, Model::from_bytes(test::model_of(before)), before.save());
    for (std::size_t n = cut; n < office.journal.size(); ++n) after.apply(office.journal[n]);
    EXPECT_EQ(after.save(), office.desk.save()) << cut;
    EXPECT_EQ(test::model_of(after), test::model_of(office.desk)) << cut;
  }
}

}  // namespace
}  // namespace quorate
