#include "quorate/stream/featurize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>

#include "quorate/base/hash.h"
#include "support/make.h"
#include "support/read.h"
#include "support/temp.h"

namespace quorate::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Entry named(std::string_view name, double value) { return {Entry::Kind::kName, 0, name, value}; }
Entry at(Index index, double value) { return {Entry::Kind::kIndex, index, {}, value}; }
Record record(std::vector<Entry> entries) {
  Record r;
  r.entries = std::move(entries);
  return r;
}
Record text(std::string_view words) {
  Record r;
  r.texts.push_back({"text", words});
  return r;
}
/// Places and values that are not 0.
std::map<Index, double> values_of(const Features& x) {
  std::map<Index, double> out;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (x.value[k] != 0) out[x.at(k)] = x.value[k];
  return out;
}
std::map<Index, double> featurize(const FeatureSettings& settings, const Record& r) {
  Featurizer f(settings);
  return values_of(f(r));
}
constexpr FeatureSettings kPlain{.bits = 0, .bias = false, .normalize = false};

TEST(Featurizer, AddsAConstantFeatureAndScalesToUnitNorm) {
  const std::map<Index, double> x = featurize({.bits = 0}, record({at(0, 2), at(6, -2)}));
  EXPECT_EQ(x, (std::map<Index, double>{{0, 1.0 / 3}, {1, 2.0 / 3}, {7, -2.0 / 3}}));
  EXPECT_EQ(featurize({.bits = 0, .normalize = false}, record({at(0, 2)})), (std::map<Index, double>{{0, 1}, {1, 2}}));
  EXPECT_EQ(featurize({.bits = 0, .bias = false}, record({at(0, -3)})), (std::map<Index, double>{{1, -1}}));
}

TEST(Featurizer, AnEmptyRecordIsTheConstantFeatureOrNothing) {
  EXPECT_EQ(featurize({}, record({})), (std::map<Index, double>{{0, 1}}));
  EXPECT_EQ(featurize({}, record({at(3, 0)})), (std::map<Index, double>{{0, 1}})) << "zeros take no place";
  EXPECT_TRUE(featurize(kPlain, record({})).empty());
  EXPECT_TRUE(featurize({.bits = 0, .bias = false}, record({named("a", 1), named("a", -1)})).empty()) << "|x| = 0 stays 0";
}

RC_GTEST_PROP(Featurizer, MakesSortedUniqueFinitePlacesOfUnitNorm, ()) {
  const FeatureSettings settings{.bits = *rc::gen::element<std::uint32_t>(0, 1, 4, 18, 31),
                                 .bias = *rc::gen::arbitrary<bool>(),
                                 .ngrams = *rc::gen::inRange(1u, 4u),
                                 .char_ngrams = *rc::gen::element(0u, 0u, 3u),
                                 .binary = *rc::gen::arbitrary<bool>()};
  std::deque<std::string> names;
  Record r;
  for (int n = *rc::gen::inRange(0, 12); n > 0; --n) {
    const double value =
        std::ldexp(1.0 + *rc::gen::inRange(0, 9), *rc::gen::inRange(-59, 56)) * (*rc::gen::arbitrary<bool>() ? 1 : -1);
    if (*rc::gen::arbitrary<bool>())
      r.entries.push_back(at(*rc::gen::element<Index>(0, 1, 2, 3, 500, kMaxIndex), value));
    else
      r.entries.push_back(named(names.emplace_back(*rc::gen::element<std::string>("a", "b", "c", "d")), value));
  }
  if (*rc::gen::arbitrary<bool>()) {
    r.texts.push_back({"text", "one two two three one"});
  }
  Featurizer f(settings);
  const Features x = f(r);
  RC_ASSERT(x.dense() || x.index.size() == x.value.size());
  for (std::size_t k = 1; k < x.index.size(); ++k) RC_ASSERT(x.index[k - 1] < x.index[k]);
  for (const double v : x.value) RC_ASSERT(std::isfinite(v));
  const double norm = squared_norm(x);
  RC_ASSERT(norm == 0.0 || std::abs(norm - 1) < 1e-12);
  if (settings.bias) RC_ASSERT(norm > 0.0);
  // Dense when at least half full, and only then.
  if (!x.dense()) RC_ASSERT(x.extent() > 2 * x.size());
}

RC_GTEST_PROP(Featurizer, TheOrderOfTheFeaturesDoesNotMatter, ()) {
  // Sums of few small numbers are exact, so that even values meeting in one place give the same bits in any order.
  const FeatureSettings settings{.bits = *rc::gen::element<std::uint32_t>(2, 18)};
  std::vector<std::string> names;
  for (int n = 0; n < 12; ++n) names.push_back("name" + std::to_string(n));
  std::vector<Entry> entries;
  for (const std::string& name : names) entries.push_back(named(name, *rc::gen::inRange(-100, 100) / 4.0));
  for (Index i = 0; i < 5; ++i) entries.push_back(at(i, *rc::gen::inRange(-100, 100) / 4.0));
  std::vector<Entry> shuffled = entries;
  Rng rng = make_rng(*rc::gen::arbitrary<std::uint64_t>(), 0);
  shuffle(std::span(shuffled), rng);
  RC_ASSERT(featurize(settings, record(entries)) == featurize(settings, record(shuffled)));
}

TEST(Featurizer, PlacesAscendAndValuesThatMeetAreAddedAsTheyCame) {
  Rng rng = make_rng(2, 0);
  for (std::size_t n = 1; n < 200; ++n)
    for (const std::uint64_t places : {std::uint64_t{3 * n}, std::uint64_t{n / 4 + 1}, std::uint64_t{kMaxIndex}}) {
      std::vector<Entry> entries;
      std::map<Index, double> expected;
      for (std::size_t k = 0; k < n; ++k) {
        const Index index = static_cast<Index>(below(places, rng)) + (places < kMaxIndex ? 0x7FFFFFF0u : 0u);
        entries.push_back(at(index, uniform(rng) + 0.1));
        const auto [found, is_new] = expected.try_emplace(1 + index, entries.back().value);
        if (!is_new) found->second += entries.back().value;
      }
      ASSERT_EQ(featurize(kPlain, record(entries)), expected) << n << " of " << places;
    }
}

TEST(Featurizer, NamesAreHashedToTheirPlaces) {
  const FeatureSettings settings{.bits = 10, .bias = false, .normalize = false};
  for (const std::string name : {"a", "f^word", "\xC3\xA9", ""}) {
    const Index place = 1 + static_cast<Index>(hash64(name) % 1024);
    EXPECT_EQ(featurize(settings, record({named(name, 2)})), (std::map<Index, double>{{place, 2}}));
  }
  std::vector<std::string> names;
  for (int n = 0; n < 100; ++n) names.push_back(std::to_string(n) + "x");
  Record r;
  for (const std::string& name : names) r.entries.push_back(named(name, 1));
  double sum = 0;
  for (const auto& [place, v] : featurize({.bits = 3, .bias = false, .normalize = false}, r)) {
    EXPECT_LE(place, 8u);
    sum += v;
  }
  EXPECT_EQ(sum, 100) << "names that meet in one place add up";
  EXPECT_THROW(Featurizer({.bits = 32}), UsageError);
}

TEST(Featurizer, WithoutHashingEveryNameGetsItsOwnPlace) {
  Featurizer f(kPlain);
  EXPECT_EQ(values_of(f(record({named("b", 2), named("a", 3)}))), (std::map<Index, double>{{1, 2}, {2, 3}}));
  EXPECT_EQ(values_of(f(record({named("a", 1), named("c", 4)}))), (std::map<Index, double>{{2, 1}, {3, 4}}));
  const auto unseen = values_of(f(record({named("a", 1), named("new", 5)}), false));
  EXPECT_EQ(unseen.size(), 2u) << "it has no weight, but it counts in the norm";
  EXPECT_EQ(unseen.at(2), 1);
  EXPECT_GT(unseen.rbegin()->first, 3u);
  EXPECT_EQ(values_of(f(record({named("d", 1)}))), (std::map<Index, double>{{4, 1}})) << "and took no place";
}

TEST(Featurizer, TextBecomesLowerCaseWordsOfAtLeastTwoLettersOrDigits) {
  const auto words = [](std::string_view t, FeatureSettings settings = kPlain) {
    Featurizer f(settings);
    const auto x = values_of(f(text(t)));
    std::vector<double> counts;
    for (const auto& [place, v] : x) counts.push_back(v);
    return counts;  // by word, in order of first appearance
  };
  const auto is = [](std::string_view t, std::initializer_list<std::string_view> expected) {
    const FeatureSettings settings{.bits = 20, .bias = false, .normalize = false};
    std::map<Index, double> x;
    for (const std::string_view word : expected)
      ++x[1 + static_cast<Index>(hash64("text^" + std::string(word)) % (1u << 20))];
    EXPECT_EQ(featurize(settings, text(t)), x) << t;
  };
  is("The cat, the CAT; a dog's x1y!", {"the", "cat", "the", "cat", "dog", "x1y"});
  is("\xC3\x89T\xC3\x89 \xC3\xA9t\xC3\xA9", {"\xC3\xA9t\xC3\xA9", "\xC3\xA9t\xC3\xA9"});  // ETE with accents
  is("\xD0\x9C\xD0\x98\xD0\xA0 \xE4\xB8\x96\xE7\x95\x8C", {"\xD0\xBC\xD0\xB8\xD1\x80", "\xE4\xB8\x96\xE7\x95\x8C"});
  is("\xE2\x80\x94word\xE2\x80\x94", {"word"});  // dashes
  is("e\xCC\x81t", {"e\xCC\x81t"});              // a combining mark
  is("", {});
  is("a b c 1 22 333", {"22", "333"});
  is("ERROR-503: 4 of mp3", {"error", "503", "of", "mp3"});
  is("\u597D", {"\u597D"});  // Han alone, and in pairs
  is("\u6211\u559C\u6B22iPhone\u3002", {"\u6211\u559C", "\u559C\u6B22", "iphone"});
  is("\u0E23\u0E32\u0E04\u0E32", {"\u0E23\u0E32", "\u0E32\u0E04", "\u0E04\u0E32"});  // Thai
  // Emoji with a colour of skin and with a selector, an arrow.
  is("ok \U0001F44D\U0001F3FD\U0001F44D \u2192 \u2764\uFE0F", {"ok", "\U0001F44D", "\U0001F44D", "\u2192", "\u2764"});
  EXPECT_THAT(words("aa bb aa aa"), ElementsAre(3, 1));
  EXPECT_THAT(words("aa bb aa aa", {.bits = 0, .bias = false, .normalize = false, .binary = true}), ElementsAre(1, 1));
  // aa, bb, "aa bb", "bb aa", "aa aa" in order of first appearance: aa, bb, "aa bb", "bb aa", "aa aa".
  EXPECT_THAT(words("aa bb aa aa", {.bits = 0, .bias = false, .normalize = false, .ngrams = 2}), ElementsAre(3, 1, 1, 1, 1));
}

/// The names of a text's features, in order of appearance.
std::vector<std::string> names_of(const std::string& words, FeatureSettings settings) {
  settings.bits = 0;
  settings.bias = false;
  Featurizer f(settings);
  const Record r = text(words);
  f(r);
  std::vector<std::string> out;
  for (const auto& [place, name] : f.names(r)) out.push_back(name);
  return out;
}

TEST(Featurizer, WordsAreTheSameWhereverTheyStand) {
  constexpr std::string_view kSun = "\xE6\x97\xA5", kSmile = "\xF0\x9F\x98\x80";
  struct Piece {
    std::string_view text, lower;  // lower: "" of what is no letter
  };
  const std::vector<Piece> pieces{{"a", "a"},
                                  {"Z", "z"},
                                  {"mM", "mm"},
                                  {" ", ""},
                                  {"@", ""},
                                  {"[", ""},
                                  {"`", ""},
                                  {"{", ""},
                                  {"7", "7"},
                                  {"\xC3\x89", "\xC3\xA9"},  // E acute
                                  {"\xD0\x96", "\xD0\xB6"},  // Zhe
                                  {kSun, kSun},
                                  {"\xE2\x80\x99", ""},  // an apostrophe
                                  {kSmile, ""},
                                  {"\xFF", ""}};
  Rng rng = make_rng(3, 0);
  for (int n = 0; n < 3000; ++n) {
    const std::uint64_t kinds = n % 3 == 0 ? 3 : n % 3 == 1 ? 9 : pieces.size();  // few of them: long words
    std::string whole, word;
    std::size_t letters = 0, suns = 0;  // in a row
    std::map<std::string, double> expected;
    const auto end = [&] {
      if (letters >= 2) ++expected["text^" + word];
      if (suns == 1) ++expected["text^" + std::string(kSun)];
      if (suns > 1) expected["text^" + std::string(kSun) + std::string(kSun)] += static_cast<double>(suns - 1);
      word.clear();
      letters = suns = 0;
    };
    for (std::uint64_t left = below(120, rng); left > 0; --left) {
      const Piece& piece = pieces[below(kinds, rng)];
      whole += piece.text;
      if (piece.lower.empty() || (piece.text == kSun ? letters : suns) > 0) end();
      if (piece.text == kSmile) ++expected["text^" + std::string(kSmile)];
      if (piece.text == kSun) {
        ++suns;
      } else {
        word += piece.lower;
        letters += piece.lower.empty() ? 0 : piece.text == "mM" ? 2 : 1;
      }
    }
    end();
    Featurizer f(kPlain);
    std::map<std::string, double> found;
    for (const auto& [place, value] : values_of(f(text(whole)))) found[std::string(f.name_of(place))] = value;
    ASSERT_EQ(found, expected) << whole;
  }
}

TEST(Featurizer, NeighbouringWordsAndLettersAreFeatures) {
  EXPECT_THAT(names_of("aa bb cc dd", {.ngrams = 3}),
              ElementsAre("text^aa", "text^bb", "text^aa bb", "text^cc", "text^bb cc", "text^aa bb cc", "text^dd",
                          "text^cc dd", "text^bb cc dd"));
  EXPECT_THAT(names_of("free \xC3\xA9t", {.char_ngrams = 4}),
              ElementsAre("text^free", "text# fre", "text#free", "text#ree ", "text^\xC3\xA9t", "text# \xC3\xA9t "));
  EXPECT_THAT(names_of("ab", {.char_ngrams = 8}), ElementsAre("text^ab", "text# ab "));
  EXPECT_THAT(names_of("ab", {.char_ngrams = 1}), ElementsAre("text^ab", "text# ", "text#a", "text#b"));
}

TEST(Featurizer, NamesThatMeetInOnePlaceAreJoined) {
  const Featurizer f({.bits = 1});
  Record r = text("one two three four five six");
  r.add_index(7, 2);
  const auto names = f.names(r);
  ASSERT_GE(names.size(), 3u);  // the constant, one or two places of words, the index
  EXPECT_EQ(names.front(), std::pair(Index{0}, std::string("constant")));
  EXPECT_EQ(names.back(), std::pair(Index{8}, std::string("7")));
  const auto joined = [](const auto& name) { return name.second.find(" / ") != std::string::npos; };
  EXPECT_TRUE(std::any_of(names.begin(), names.end(), joined));
}

TEST(Featurizer, TextThatIsNotUtf8BreaksNothing) {
  Featurizer f(kPlain);
  const auto x =
      values_of(f(text("ab\xFF"
                       "cd \xC3")));
  EXPECT_EQ(x, (std::map<Index, double>{{1, 1}, {2, 1}}));
}

TEST(Featurizer, BinaryCountsWordsOnceButNotGivenFeatures) {
  Record r = text("aa aa");
  r.entries = {named("n", 1), named("n", 1)};
  Featurizer f({.bits = 0, .bias = false, .normalize = false, .binary = true});
  EXPECT_EQ(values_of(f(r)), (std::map<Index, double>{{1, 1}, {2, 2}}));
}

std::vector<std::map<Index, double>> all_of(Featurizer& f, const std::string& path, const ReadOptions& options = {}) {
  const auto reader = open_reader(path, options);
  f.begin(*reader);
  std::vector<std::map<Index, double>> out;
  for (Record r; reader->next(r);) out.push_back(values_of(f(r)));
  return out;
}

TEST(Featurizer, ColumnsAreFoundByNameInLaterFiles) {
  const TempDir dir;
  Featurizer f({.bits = 4, .bias = false, .normalize = false});
  const auto first = all_of(f, dir.write("a.csv", "a,b,c\n1,2,3\n"));
  EXPECT_EQ(first, (std::vector<std::map<Index, double>>{{{1, 1}, {2, 2}, {3, 3}}}));
  EXPECT_EQ(all_of(f, dir.write("b.csv", "c,id,a,b\n3,x,1,2\n")), first);
  EXPECT_EQ(featurize(f.settings(), record({})), (std::map<Index, double>{}));
}

TEST(Featurizer, ColumnsThatAreNewOrMissingAreRefusedByName) {
  const TempDir dir;
  Featurizer f;
  all_of(f, dir.write("a.csv", "a,b\n1,2\n"));
  const auto refusal = [&](Featurizer& featurizer, const std::string& path) -> std::string {
    try {
      all_of(featurizer, path);
    } catch (const DataError& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(f, dir.write("b.csv", "a,b,extra\n1,2,3\n")),
              AllOf(HasSubstr(dir.at("b.csv")), HasSubstr("'extra'"), HasSubstr("--ignore-column extra")));
  EXPECT_THAT(refusal(f, dir.write("b.csv", "a\n1\n")), AllOf(HasSubstr(dir.at("b.csv")), HasSubstr("'b'")));
  EXPECT_THAT(refusal(f, dir.write("b.svm", "1 1:1\n")), HasSubstr("learned from columns (a, b); expected CSV"));
  Featurizer without;
  all_of(without, dir.write("c.svm", "1 0:1 1:1 2:1\n"));
  EXPECT_THAT(refusal(without, dir.at("a.csv")),
              HasSubstr("features in columns, but the model learned from the indices 0 to 2"));
  EXPECT_THAT(refusal(without, dir.write("d.svm", "1 1:1 2:1 3:1\n")), HasSubstr("one counts from 0, the other from 1"));
  for (const char* line : {"1 1:1 2:1\n", "1 1:1 2:1 4:1\n", "1 5:1 6:1 7:1\n", "1 0:1 1:1 2:1 3:1\n"})
    EXPECT_EQ(refusal(without, dir.write("d.svm", line)), "accepted");
}

TEST(Featurizer, IsDenseWhenAtLeastHalfFull) {
  Featurizer f(kPlain);
  EXPECT_TRUE(f(record({at(0, 1), at(2, 1)})).dense());   // places 1, 3 of 0..3
  EXPECT_FALSE(f(record({at(0, 1), at(3, 1)})).dense());  // places 1, 4 of 0..4
  const Features x = f(record({at(0, 5), at(2, 6)}));
  EXPECT_THAT(std::vector<double>(x.value.begin(), x.value.end()), ElementsAre(0, 5, 0, 6));
  EXPECT_FALSE(f(record({at(kMaxIndex, 1)})).dense());
}

TEST(Featurizer, CategoriesHavePlacesOfTheirOwnAndAColumnThatIs0IsThere) {
  const TempDir dir;
  for (const std::uint32_t bits : {0u, 8u}) {
    Featurizer f({.bits = bits, .normalize = false});
    const auto instances = [&](const std::string& path) {
      std::vector<std::map<Index, double>> out;
      const auto reader = open_reader(path, {});
      f.begin(*reader);
      Record row;
      while (reader->next(row)) {
        const Features x = f(row);
        auto& places = out.emplace_back();
        for (std::size_t k = 0; k < x.size(); ++k) places[x.at(k)] = x.value[k];
      }
      return out;
    };
    const auto rows = instances(dir.write("a.csv", "a,b,kind,text\n0,2,web,some words of web\n1,?,shop,more words of it\n"));
    const FeatureKinds kinds = f.kinds();
    EXPECT_EQ(kinds.numbers, 2u);
    EXPECT_EQ(rows[0].at(1), 0) << "a value";
    EXPECT_FALSE(rows[1].contains(2)) << "missing";
    const auto categories = [&](std::size_t row) {
      return std::distance(rows[row].lower_bound(kinds.categories), rows[row].end());
    };
    EXPECT_EQ(categories(0), bits == 0 ? 0 : 1) << "names that are kept are numbered one by one";
    EXPECT_EQ(categories(1), bits == 0 ? 0 : 2) << "that b is missing is said like a category";
    EXPECT_EQ(rows[0].size(), 1u + 2 + 4 + 1);
  }
  Featurizer numbers({.bits = 8, .normalize = false});
  const auto reader = open_reader(dir.write("b.jsonl", "{\"a\": 0, \"b\": 2}\n{\"a\": 3}\n"), {});
  numbers.begin(*reader);
  Record row;
  ASSERT_TRUE(reader->next(row));
  EXPECT_TRUE(numbers(row).dense());
  ASSERT_TRUE(reader->next(row));
  EXPECT_FALSE(numbers(row).dense()) << "b is missing, not 0";
}

/// Bit by bit.
void expect_same(const Features& a, const Features& b) {
  EXPECT_EQ(std::vector(a.index.begin(), a.index.end()), std::vector(b.index.begin(), b.index.end()));
  EXPECT_EQ(std::vector(a.value.begin(), a.value.end()), std::vector(b.value.begin(), b.value.end()));
  EXPECT_EQ(a.norm, b.norm);
}

RC_GTEST_PROP(Featurizer, ARowOfAMatrixIsTheInstanceOfARecordOfItsIndices, ()) {
  const FeatureSettings settings{.bits = 18, .bias = *rc::gen::arbitrary<bool>(), .normalize = *rc::gen::arbitrary<bool>()};
  Featurizer f(settings);
  Featurizer::Scratch scratch;
  auto cells =
      *rc::gen::container<std::vector<std::pair<int, int>>>(rc::gen::pair(rc::gen::inRange(0, 30), rc::gen::inRange(-3, 4)));
  if (*rc::gen::arbitrary<bool>()) std::sort(cells.begin(), cells.end());
  Record r;
  std::vector<std::int64_t> index;
  std::vector<double> value, dense(*rc::gen::inRange<std::size_t>(0, 40));
  for (const auto& [place, number] : cells) {
    index.push_back(place);
    value.push_back(number * 0.7);
    r.entries.push_back(at(static_cast<Index>(place), number * 0.7));
  }
  expect_same(f.row(std::span<const std::int64_t>(index), value, scratch), f(r));
  r.clear();
  for (std::size_t k = 0; k < dense.size(); ++k) {
    dense[k] = *rc::gen::inRange(0, 3) > 0 ? *rc::gen::inRange(-3, 4) * 0.7 : -0.0;
    r.entries.push_back(at(static_cast<Index>(k), dense[k]));
  }
  expect_same(f.row(dense, scratch), f(r));
}

TEST(Featurizer, ManyThreadsMayUseOne) {
  Featurizer f({.bits = 0});
  const Record known = text("cheap pills"), unknown = text("other words");
  f(known);
  Featurizer::Scratch scratch;
  const std::map<Index, double> expected = values_of(f(known, false));
  EXPECT_EQ(values_of(std::as_const(f)(known, {}, scratch)), expected);
  const std::map<Index, double> strange = values_of(std::as_const(f)(unknown, {}, scratch));
  EXPECT_EQ(strange, values_of(f(unknown, false)));
  EXPECT_TRUE(values_of(f(text("third"))).contains(3)) << "what was only looked up has no place";
}

TEST(Featurizer, SavedAndLoadedGivesTheSamePlaces) {
  const TempDir dir;
  for (const std::uint32_t bits : {0u, 6u}) {
    Featurizer f({.bits = bits, .bias = true, .normalize = false, .ngrams = 2, .binary = true});
    all_of(f, dir.write("a.csv", "a,b,text\n1,2,some words\n3,4,more words\n"));
    Tensors saved;
    Writer{saved}("input", f);
    Featurizer back(f.settings());
    Reader reader(saved);
    reader("input", back);
    back.check();
    const std::string later = dir.write("b.csv", "text,b,a\nwords of more,2,1\n");
    EXPECT_EQ(all_of(back, later), all_of(f, later));
  }
}

}  // namespace
}  // namespace quorate::test
