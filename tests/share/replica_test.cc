#include "quorate/share/replica.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "quorate/base/error.h"
#include "support/office.h"

namespace quorate {
namespace {

/// A desk at work: examples, answers, an undo, a forgotten example. Its log, from the first record.
struct Work {
  Work() : office(test::spam({"30"})), again(office.desk.settings()) {
    for (int n = 0; n < 60; ++n) {
      ++office.now;
      office.post("m" + std::to_string(n), "t" + std::to_string(n % 3), test::word(n % 7) + " " + test::word(n % 5));
      if (n % 2 == 0) continue;
      const test::Json question = office.next("ann");
      if (!question.is_null()) office.answer(question, n % 3 == 0 ? "spam" : "ham");
    }
    office.call({{"do", "undo"}, {"annotator", "ann"}});
    office.call({{"do", "forget_example"}, {"example", "m1"}});
    for (const std::string& record : office.journal) records.push_back(with_result(record, again.apply(record).was));
  }
  std::string log(std::uint64_t from, std::uint64_t until) const {
    std::string out;
    for (std::uint64_t n = from; n < until; ++n) add_to_log(out, n, records[n]);
    return out;
  }
  /// The desk after `sequence` records.
  DeskMoment moment(std::uint64_t sequence) const {
    Desk desk(office.desk.settings());
    for (std::uint64_t n = 0; n < sequence; ++n) desk.apply(records[n]);
    DeskMoment out{"a log", sequence, office.desk.settings().to_json()};
    if (sequence > 0) out.model = test::model_of(desk), out.state = desk.save();
    return out;
  }

  test::Office office;
  Desk again;
  std::vector<std::string> records;
};

TEST(Replica, EqualsTheDeskFromAnyMomentOn) {
  const Work work;
  const std::uint64_t all = work.records.size();
  for (std::uint64_t from = 0; from < all; from += 17) {
    Replica replica(work.moment(from).text());
    EXPECT_EQ(replica.log(), "a log");
    for (std::uint64_t at = from; at < all; at += 5) replica.apply(work.log(at, std::min(at + 5, all)));
    EXPECT_EQ(replica.next(), all);
    EXPECT_EQ(test::model_of(replica.desk()), test::model_of(work.office.desk)) << from;
    EXPECT_EQ(replica.desk().save(), work.office.desk.save()) << from;
  }
}

TEST(Replica, RefusesWhatDoesNotFollow) {
  const Work work;
  Replica replica(work.moment(0).text());
  replica.apply("");
  replica.apply(work.log(0, 3));
  EXPECT_THROW(replica.apply(work.log(4, 5)), DataError);
  EXPECT_THROW(replica.apply(work.log(2, 3)), DataError);
  const std::string good = work.log(3, 4);
  for (std::size_t cut = 1; cut < good.size(); ++cut) EXPECT_THROW(replica.apply(good.substr(0, cut)), DataError) << cut;
  for (const char* wrong :
       {"3\n", "3 99999999999999999999\n", "x 1\na\n", "3 1\nab", "-3 1\na\n", "3 18446744073709551615\n"})
    EXPECT_THROW(replica.apply(wrong), DataError) << wrong;
  EXPECT_EQ(replica.next(), 3U);
  replica.apply(good);
  EXPECT_EQ(replica.next(), 4U);
}

TEST(Replica, RefusesARecordThatGivesAnotherResult) {
  Work work;
  std::size_t asks = 0;
  while (work.records[asks].find("\"do\":\"next\"") == std::string::npos) ++asks;
  const auto was = work.records[asks].find("\"was\":");
  ASSERT_NE(was, std::string::npos);
  work.records[asks] = with_result(work.records[asks].substr(0, was - 1) + "}", R"({"other":1})");
  Replica replica(work.moment(0).text());
  try {
    replica.apply(work.log(0, asks + 1));
    FAIL();
  } catch (const DataError& e) {
    EXPECT_NE(std::string(e.what()).find("record " + std::to_string(asks) + " does not apply"), std::string::npos)
        << e.what();
  }
  EXPECT_EQ(replica.next(), asks) << "those before it are applied";
}

TEST(Replica, RefusesWhatIsNoMoment) {
  const Work work;
  const std::string good = work.moment(20).text();
  for (const std::string& wrong :
       {std::string(), std::string("{}\n"), std::string("[]"), good.substr(0, good.find('\n') + 1),
        good.substr(0, good.size() - 1), good + "x", "{\"log\":7" + good.substr(good.find(','))})
    EXPECT_THROW(Replica{wrong}, DataError) << wrong.substr(0, 80);
}

}  // namespace
}  // namespace quorate
