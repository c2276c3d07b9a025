#include "quorate/desk/settings.h"

#include <gtest/gtest.h>

namespace quorate {
namespace {

TEST(DeskSettings, ComeBackFromTheirTextWithEveryValue) {
  DeskSettings s;
  s.learner = "cohort(noise=0.5)";
  s.positive = "sp\"am";
  s.negative = "ham, or so";
  s.learning.labels = {"500", "20/day"};
  s.learning.audit = 0.125;
  s.learning.memory = ByteSize{8'000'000};
  s.features.bits = 20;
  s.features.interactions = {"a*b"};
  s.reading.text = "body text";
  s.reading.ignore = {"x", "y z"};
  s.desk.prompt = "Is it spam?";
  s.desk.lease = 60.5;
  s.desk.labels_per_annotator = 7;
  const DeskSettings back = DeskSettings::from_json(s.to_json());
  EXPECT_EQ(back.to_json(), s.to_json());
  EXPECT_EQ(back.positive, s.positive);
  EXPECT_EQ(back.learning.labels, s.learning.labels);
  EXPECT_EQ(back.learning.memory, s.learning.memory);
  EXPECT_EQ(back.learning.audit, 0.125);
  EXPECT_EQ(back.features, s.features);
  EXPECT_EQ(back.reading.ignore, s.reading.ignore);
  EXPECT_EQ(back.desk.lease, 60.5);
  EXPECT_EQ(back.desk.labels_per_annotator, 7u);
  EXPECT_EQ(DeskSettings::from_json(DeskSettings{}.to_json()).to_json(), DeskSettings{}.to_json());
}

TEST(DeskSettings, RefuseWhatIsNoneOfTheirTexts) {
  EXPECT_THROW(DeskSettings::from_json("{"), DataError);
  EXPECT_THROW(DeskSettings::from_json("{}"), DataError);
  std::string text = DeskSettings{}.to_json();
  text.replace(text.find("\"desk\":{}"), 9, "\"desk\":{\"lease\":\"1\"}");
  EXPECT_THROW(DeskSettings::from_json(text), UsageError);
}

}  // namespace
}  // namespace quorate
