#include "quorate/params/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace quorate::test {
namespace {

using testing::HasSubstr;

bool same(const Spec& a, const Spec& b) {
  if (a.word != b.word || a.args.size() != b.args.size()) return false;
  for (std::size_t i = 0; i < a.args.size(); ++i)
    if (a.args[i].key != b.args[i].key || !same(a.args[i].value, b.args[i].value)) return false;
  return true;
}

Spec arbitrary_spec(int depth) {
  const auto word = rc::gen::container<std::string>(
      rc::gen::oneOf(rc::gen::element('(', ')', ',', '=', ' ', '\t', '"', '\\', 'a'), rc::gen::arbitrary<char>()));
  Spec out{*word, {}};
  if (depth > 0)
    for (int n = *rc::gen::inRange(0, 3); n > 0; --n) out.args.push_back({*word, arbitrary_spec(depth - 1)});
  return out;
}

RC_GTEST_PROP(Spec, ParsingItsTextGivesItBack, ()) {
  const Spec spec = arbitrary_spec(3);
  const std::string text = to_text(spec);
  const Spec back = parse_spec(text);
  RC_ASSERT(same(spec, back));
  RC_ASSERT(to_text(back) == text);
}

RC_GTEST_PROP(Spec, AnyTextIsParsedOrRefused, ()) {
  const auto text = *rc::gen::container<std::string>(rc::gen::element('(', ')', ',', '=', ' ', '"', '\\', 'a', 'b'));
  try {
    RC_ASSERT(same(parse_spec(to_text(parse_spec(text))), parse_spec(text)));
  } catch (const UsageError&) {
  }
}

TEST(Spec, HasOneNormalSpelling) {
  EXPECT_EQ(to_text(parse_spec("  cmtl ( query = margin( b=1 ) ,\tgraph=complete ) ")),
            "cmtl(query=margin(b=1), graph=complete)");
  EXPECT_EQ(to_text(parse_spec("a()")), "a");
  EXPECT_EQ(to_text(parse_spec("a( )")), "a");
  EXPECT_EQ(to_text(parse_spec("a(f=\"x y.csv\", g=\"plain\")")), "a(f=\"x y.csv\", g=plain)");
  EXPECT_EQ(to_text({"", {}}), "\"\"");
}

std::string refusal_of_spec(const std::string& text) {
  try {
    parse_spec(text);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

TEST(Spec, ARefusalNamesThePlaceAndWhatWasExpected) {
  EXPECT_THAT(refusal_of_spec(""), AllOf(HasSubstr("word"), HasSubstr("character 1")));
  EXPECT_THAT(refusal_of_spec("a(b"), AllOf(HasSubstr("'='"), HasSubstr("'b'"), HasSubstr("character 4")));
  EXPECT_THAT(refusal_of_spec("a(b=1"), AllOf(HasSubstr("','"), HasSubstr("character 6")));
  EXPECT_THAT(refusal_of_spec("a(b=1,)"), AllOf(HasSubstr("word"), HasSubstr("character 7")));
  EXPECT_THAT(refusal_of_spec("a b"), AllOf(HasSubstr("end"), HasSubstr("character 3")));
  EXPECT_THAT(refusal_of_spec("a)"), AllOf(HasSubstr("end"), HasSubstr("character 2")));
  EXPECT_THAT(refusal_of_spec("a(b=\"x"), HasSubstr("closing quote"));
  EXPECT_THAT(refusal_of_spec("a(b=\"x\\"), HasSubstr("closing quote"));
  EXPECT_THAT(refusal_of_spec("a(=1)"), HasSubstr("word"));
}

TEST(Spec, MayBeSixteenLevelsDeepAndNoDeeper) {
  const auto nested = [](int levels) {
    std::string text = "x";
    for (int n = 0; n < levels; ++n) text = "x(a=" + text + ")";
    return text;
  };
  EXPECT_EQ(to_text(parse_spec(nested(16))), nested(16));
  EXPECT_THAT(refusal_of_spec(nested(17)), HasSubstr("16"));
  EXPECT_THAT(refusal_of_spec(nested(1000)), HasSubstr("16"));
}

}  // namespace
}  // namespace quorate::test
