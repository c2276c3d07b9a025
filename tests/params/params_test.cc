#include "quorate/params/params.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstdint>

namespace quorate::test {
namespace {

using testing::HasSubstr;

struct Soft {
  static constexpr std::string_view name = "soft", meaning = "yields";
  double b = 0.1;
  static constexpr auto fields() { return std::tuple{Field{&Soft::b, "b", kPositive, "how soft", "nowhere"}}; }
};
struct Hard {
  static constexpr std::string_view name = "hard", meaning = "does not";
  static constexpr auto fields() { return std::tuple{}; }
};
struct Everything {
  bool flag = true;
  std::int32_t count = 3;
  std::uint32_t natural = 2;
  double real = 0.25;
  std::string text = "two words";
  std::variant<Hard, Soft> choice = Soft{};
  static constexpr auto fields() {
    return std::tuple{Field{&Everything::flag, "flag", kAny, "a flag", "1"},
                      Field{&Everything::count, "count", Interval{-5, 5}, "a count", "2"},
                      Field{&Everything::natural, "natural", kAny, "a natural number", "3"},
                      Field{&Everything::real, "real", kAny, "a real number", "4"},
                      Field{&Everything::text, "text", kAny, "a text", "5"},
                      Field{&Everything::choice, "choice", kAny, "a choice", "6"}};
  }
};

Everything read(const std::string& args) { return read_params<Everything>(parse_spec("all(" + args + ")")); }
std::string refusal(const std::string& args) {
  try {
    read(args);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Params, DefaultsComeFromTheMembers) {
  EXPECT_EQ(to_text(write_params("all", read(""))),
            "all(flag=true, count=3, natural=2, real=0.25, text=\"two words\", choice=soft(b=0.1))");
}

RC_GTEST_PROP(Params, WhatIsWrittenReadsBackTheSame, (bool flag, std::uint32_t natural, std::string text, bool soft)) {
  Everything in;
  in.flag = flag;
  in.count = *rc::gen::inRange(-5, 6);
  in.natural = natural;
  in.real = std::ldexp(static_cast<double>(*rc::gen::arbitrary<std::int64_t>()), *rc::gen::inRange(-900, 900));
  in.text = text;
  if (soft)
    in.choice = Soft{std::ldexp(1.0 + *rc::gen::inRange(0, 1000), *rc::gen::inRange(-900, 900))};
  else
    in.choice = Hard{};
  const std::string spec = to_text(write_params("all", in));
  const Everything out = read_params<Everything>(parse_spec(spec));
  RC_ASSERT(to_text(write_params("all", out)) == spec);
  RC_ASSERT(out.flag == in.flag);
  RC_ASSERT(out.count == in.count);
  RC_ASSERT(out.natural == in.natural);
  RC_ASSERT(out.real == in.real);
  RC_ASSERT(out.text == in.text);
  RC_ASSERT(out.choice.index() == in.choice.index());
  if (soft) RC_ASSERT(std::get<Soft>(out.choice).b == std::get<Soft>(in.choice).b);
}

TEST(Params, ARefusalNamesTheValueAndWhatWasExpected) {
  EXPECT_THAT(refusal("colour=red"), AllOf(HasSubstr("'colour'"), HasSubstr("flag"), HasSubstr("choice")));
  EXPECT_THAT(refusal("count=1, flag=true, count=2"), AllOf(HasSubstr("'count'"), HasSubstr("twice")));
  for (const std::string bad : {"1", "yes", "TRUE", "\"\""})
    EXPECT_THAT(refusal("flag=" + bad), AllOf(HasSubstr("flag=" + bad), HasSubstr("true or false")));
  for (const std::string bad : {"6", "-6", "1.5", "1e0", "99999999999", "x", "+1", "inf", "nan"})
    EXPECT_THAT(refusal("count=" + bad),
                AllOf(HasSubstr("count=" + bad), HasSubstr("a whole number"), HasSubstr("from -5 to 5")));
  EXPECT_THAT(refusal("natural=-1"), HasSubstr("natural=-1"));
  EXPECT_THAT(refusal("natural=4294967296"), HasSubstr("natural=4294967296"));
  for (const std::string bad : {"inf", "-inf", "nan", "infinity", "1e999", "0x10", "1,", "."})
    EXPECT_NE(refusal("real=" + bad), "accepted") << bad;
  for (const std::string bad : {"inf", "nan", "1e999", "one"})
    EXPECT_THAT(refusal("real=" + bad), AllOf(HasSubstr("real=" + bad), HasSubstr("expected a number")));
  EXPECT_THAT(refusal("choice=middle"), AllOf(HasSubstr("choice=middle"), HasSubstr("one of hard, soft")));
  EXPECT_THAT(refusal("choice=soft(b=0)"), AllOf(HasSubstr("b=0"), HasSubstr("above 0")));
  EXPECT_THAT(refusal("choice=hard(b=1)"), AllOf(HasSubstr("hard"), HasSubstr("'b'"), HasSubstr("none")));
  EXPECT_THAT(refusal("text=a(b=c)"), AllOf(HasSubstr("text=a(b=c)"), HasSubstr("plain value")));
}

TEST(Params, IntervalsMeanFinite) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const Interval& i : {kAny, kPositive, kProbability}) {
    EXPECT_FALSE(i.contains(inf));
    EXPECT_FALSE(i.contains(-inf));
    EXPECT_FALSE(i.contains(std::nan("")));
  }
  EXPECT_TRUE(kAny.contains(-1e308));
  EXPECT_FALSE(kPositive.contains(0));
  EXPECT_TRUE(kPositive.contains(5e-324));
  EXPECT_TRUE(kProbability.contains(0) && kProbability.contains(1));
  EXPECT_FALSE(kProbability.contains(std::nextafter(1, 2)));
}

TEST(Params, AreDescribedFromTheSameDeclaration) {
  const auto params = describe_params<Everything>();
  ASSERT_EQ(params.size(), 6u);
  const std::vector<std::string> types{"bool", "int", "int", "float", "text", "choice"},
      initial{"true", "3", "2", "0.25", "\"two words\"", "soft(b=0.1)"};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(params[i].type, types[i]);
    EXPECT_EQ(params[i].initial, initial[i]);
    EXPECT_EQ(params[i].source, std::to_string(i + 1));
    EXPECT_FALSE(params[i].meaning.empty());
  }
  EXPECT_EQ(params[1].range, " from -5 to 5");
  ASSERT_EQ(params[5].choices.size(), 2u);
  EXPECT_EQ(params[5].choices[0].name, "hard");
  EXPECT_EQ(params[5].choices[1].meaning, "yields");
  ASSERT_EQ(params[5].choices[1].params.size(), 1u);
  EXPECT_EQ(params[5].choices[1].params[0].range, " above 0");
}

}  // namespace
}  // namespace quorate::test
