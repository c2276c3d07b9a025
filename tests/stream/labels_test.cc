#include "quorate/stream/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quorate/base/error.h"

namespace quorate::test {
namespace {

using testing::HasSubstr;

TEST(Labels, OnesAndMinusOnesOrZerosAreTheLabels) {
  Labels a;
  EXPECT_EQ(a("1"), 1);
  EXPECT_EQ(a("+1"), 1);
  EXPECT_EQ(a("1.0"), 1);
  EXPECT_EQ(a("-1"), -1);
  EXPECT_EQ(a("-1.0"), -1);
  EXPECT_EQ(a.word(1), "1");
  EXPECT_EQ(a.word(-1), "-1");
  Labels b;
  EXPECT_EQ(b("0"), -1);
  EXPECT_EQ(b("1"), 1);
  EXPECT_EQ(b("0.0"), -1);
  EXPECT_EQ(b.word(-1), "0");
  EXPECT_EQ(Labels().word(-1), "-1");
}

TEST(Labels, NothingAndAQuestionMarkAreMissing) {
  for (const std::string positive : {"", "spam"}) {
    Labels labels(positive);
    EXPECT_EQ(labels(""), 0);
    EXPECT_EQ(labels("?"), 0);
    EXPECT_EQ(labels.negative(), "");
  }
}

TEST(Labels, AWordOutsideTheSetIsRefusedWithTheValue) {
  for (const std::string bad :
       {"2", "spam", "-2", "0.5", "nan", "inf", "1 ", " 1", "1x", "+-1", "++1", "+", "-", "yes", "1e"}) {
    Labels labels;
    try {
      labels(bad);
      ADD_FAILURE() << "'" << bad << "' accepted";
    } catch (const DataError& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr("'" + bad + "'"), HasSubstr("expected"), HasSubstr("--positive")));
    }
  }
}

TEST(Labels, TwoKindsOfNegativesAreRefused) {
  Labels labels;
  labels("0");
  EXPECT_THROW(labels("-1"), DataError);
  EXPECT_EQ(labels("0"), -1);
  EXPECT_EQ(labels("1"), 1);
}

TEST(Labels, WithAPositiveWordEveryOtherIsNegative) {
  Labels labels("spam");
  EXPECT_EQ(labels("spam"), 1);
  EXPECT_EQ(labels.word(-1), "not-spam");
  EXPECT_EQ(labels("ham"), -1);
  EXPECT_EQ(labels("ham"), -1);
  EXPECT_EQ(labels.word(-1), "ham");
  EXPECT_EQ(labels("1"), -1);
  EXPECT_EQ(labels.word(-1), "not-spam") << "there are several";
  EXPECT_EQ(labels("ham"), -1);
  EXPECT_EQ(labels.word(-1), "not-spam");
  EXPECT_EQ(labels.word(1), "spam");
  Labels restored;
  restored.restore("spam", "ham");
  EXPECT_EQ(restored("spam"), 1);
  EXPECT_EQ(restored.word(-1), "ham");
}

}  // namespace
}  // namespace quorate::test
