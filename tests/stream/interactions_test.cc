#include "quorate/stream/interactions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "quorate/base/error.h"
#include "quorate/stream/featurize.h"

namespace quorate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

Record example() {
  Record r;
  r.add_name("links", 3);
  r.add_name("age", 2);
  r.add_name("zero", 0);
  r.add_name("channel=mail", 1);
  r.texts.push_back({"subject", "free cash"});
  return r;
}

/// The products of an example, with their values.
std::map<std::string, double> products(const std::vector<std::string>& pairs) {
  Featurizer f({.bits = 0, .bias = false, .normalize = false, .interactions = pairs});
  const Record r = example();
  const Features x = f(r);
  std::map<std::string, double> out;
  for (const auto& [place, name] : f.names(r))
    if (name.find('*') != name.npos)
      for (std::size_t k = 0; k < x.size(); ++k)
        if (x.at(k) == place) out[name] = x.value[k];
  return out;
}

TEST(Interactions, AreProductsOfTwoColumns) {
  EXPECT_THAT(products({"links*age"}), ElementsAre(Pair("links*age", 6)));
  EXPECT_THAT(products({"channel*links"}), ElementsAre(Pair("channel=mail*links", 3)));
  EXPECT_THAT(products({"subject*channel"}),
              UnorderedElementsAre(Pair("subject^free*channel=mail", 1), Pair("subject^cash*channel=mail", 1)));
  EXPECT_TRUE(products({"zero*age"}).empty());
  EXPECT_TRUE(products({"other*age"}).empty());
}

TEST(Interactions, OfAKindWithItselfTakeEachPairOnce) {
  EXPECT_THAT(products({"number*number"}), ElementsAre(Pair("links*age", 6)));
  EXPECT_THAT(products({"text*text"}), ElementsAre(Pair("subject^free*subject^cash", 1)));
  EXPECT_THAT(products({"category*number"}),
              UnorderedElementsAre(Pair("channel=mail*links", 3), Pair("channel=mail*age", 2)));
}

TEST(Interactions, ThatAreNoneAreRefused) {
  for (const char* bad : {"", "*", "a*", "*a", "ab", "a*b*c"}) {
    try {
      Interactions({bad});
      ADD_FAILURE() << bad;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr("user*channel"));
    }
  }
}

TEST(Interactions, OfAColumnThatIsNotThereOrNoFeatureAreRefused) {
  Schema schema;
  const Interactions pair({"user*links"}), kinds({"number*text"});
  EXPECT_NO_THROW(pair.check(schema));  // nothing is known of the columns
  schema.add("links", ColumnKind::kNumber);
  EXPECT_NO_THROW(kinds.check(schema));
  EXPECT_THROW(pair.check(schema), UsageError);
  schema.add("user", ColumnKind::kTask);
  try {
    pair.check(schema);
    ADD_FAILURE();
  } catch (const UsageError& e) {
    EXPECT_THAT(e.what(), HasSubstr("'user' holds the task"));
  }
}

}  // namespace
}  // namespace quorate
