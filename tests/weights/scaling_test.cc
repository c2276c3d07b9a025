#include "quorate/weights/scaling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "quorate/base/error.h"
#include "quorate/base/memory.h"
#include "quorate/base/rng.h"
#include "quorate/store/state.h"
#include "support/edit.h"

namespace quorate {
namespace {

struct Counts {
  std::vector<Index> index;
  std::vector<double> value;
  Features x(double norm = 1) const { return {index, value, norm}; }
};

/// A text of words, some common and some rare.
Counts make_text(Rng& rng, Index words) {
  std::map<Index, double> bag;
  for (int i = 0; i < 12; ++i) bag[static_cast<Index>(uniform(rng) * uniform(rng) * words)] += 1;
  Counts out;
  for (const auto& [word, count] : bag) {
    out.index.push_back(word);
    out.value.push_back(count);
  }
  return out;
}

TEST(Scaling, LogIdfIsTheFormulaOfTheNotes) {
  Memory memory;
  Scaling scaling(ScaleLogIdf{}, 0, &memory);
  Rng rng = make_rng(1, 0);
  std::map<Index, double> df;
  for (int n = 1; n <= 200; ++n) {
    const Counts text = make_text(rng, 300);
    scaling.count(text.x());
    for (const Index word : text.index) df[word] += 1;
    std::vector<double> out(text.index.size()), expected;
    const Features scaled = scaling(text.x(), out);
    double length = 0;
    for (std::size_t k = 0; k < text.index.size(); ++k) {
      expected.push_back(std::log1p(text.value[k]) * std::log((n + 1) / df[text.index[k]]));
      length += expected[k] * expected[k];
    }
    for (std::size_t k = 0; k < text.index.size(); ++k)
      EXPECT_NEAR(scaled.value[k], expected[k] / std::sqrt(length), 1e-13) << n << " " << k;
  }
}

TEST(Scaling, EqualNumbersStayEqualWhateverTheUnit) {
  Memory memory;
  constexpr std::size_t kColumns = 4;
  Scaling a(ScaleAuto{}, 0, &memory), b(ScaleAuto{}, 0, &memory);
  for (Scaling* one : {&a, &b}) one->set_kinds({kColumns, FeatureKinds::kNone});
  Rng rng = make_rng(8, 0);
  for (int n = 0; n < 400; ++n) {
    std::vector<double> row{1};
    // Most are 0.1, so that it is several quantiles; the others make every instance another length.
    for (std::size_t i = 0; i < kColumns; ++i) row.push_back(std::max(1.0, std::floor(60 * uniform(rng) - 35)) / 10);
    const auto scaled = [&](Scaling& scaling) {
      std::vector<double> x = row, out(row.size());
      const double norm = std::sqrt(squared_norm({{}, x}));
      for (double& v : x) v /= norm;
      scaling.count({{}, x, norm});
      scaling({{}, x, norm}, out);
      return out;
    };
    const std::vector<double> before = scaled(a);
    row[1] *= 1000;
    const std::vector<double> after = scaled(b);
    for (std::size_t k = 0; k < row.size(); ++k) ASSERT_NEAR(before[k], after[k], 1e-6) << "row " << n << ", place " << k;
  }
}

TEST(Scaling, HugeNumbersStayFinite) {
  Memory memory;
  Scaling scaling(ScaleAuto{}, 0, &memory);
  scaling.set_kinds({2, FeatureKinds::kNone});
  Rng rng = make_rng(9, 0);
  for (int n = 0; n < 100; ++n) {
    std::vector<double> x{1, 1.7e308 * (uniform(rng) - 0.5), 1e300 * uniform(rng)}, out(x.size());
    scaling.count({{}, x, 1});
    scaling({{}, x, 1}, out);
    for (const double v : out) ASSERT_TRUE(std::isfinite(v)) << "row " << n;
  }
}

TEST(Scaling, LargeNumbersKeepTheirDigitsAndLoad) {
  Memory memory;
  Rng rng = make_rng(5, 0);
  for (const double base : {1e10, 1.7e12, 1e18, 1e36}) {  // the last: of a product of two
    Scaling scaling(ScaleAuto{}, 0, &memory), loaded(ScaleAuto{}, 0, &memory);
    scaling.set_kinds({.numbers = 2});
    loaded.set_kinds({.numbers = 2});
    const double step = base < 1e18 ? 1 : -base / 100;
    for (int n = 0; n < 300; ++n) {
      const std::vector<double> value{0, base + (n % 2) * step, uniform(rng)};
      double squares = 0;
      for (const double v : value) squares += v * v;
      const double norm = std::sqrt(squares);
      std::vector<double> shorter, out(3);
      for (const double v : value) shorter.push_back(v / norm);
      scaling.count({{}, shorter, norm});
      const Features scaled = scaling({{}, shorter, norm}, out);
      if (n > 100) {
        EXPECT_GT(std::abs(scaled.value[1]), 0.1) << base;
        EXPECT_EQ(scaled.value[1] > 0, (n % 2 == 1) == (step > 0)) << base;
      }
    }
    loaded.unpack(scaling.pack());
  }
}

// A number in the middle of two that have 33 bits: what rounding did to it must not decide to which of them it goes.
TEST(Scaling, ANumberBetweenTwoIsAlwaysTakenForTheSame) {
  for (const double number : {1700000000.125, 9e12 + 0.5, 12345678901234567.0}) {
    Memory memory;
    Scaling scaling(ScaleAuto{}, 0, &memory);
    scaling.set_kinds({.numbers = 2});
    Rng rng = make_rng(6, 0);
    for (int n = 0; n < 2000; ++n) {
      const double other = uniform(rng) * number, norm = std::sqrt(number * number + other * other);
      const std::vector<double> shorter{0, number / norm, other / norm};
      scaling.count({{}, shorter, norm});
      std::vector<double> out(3);
      ASSERT_EQ(scaling({{}, shorter, norm}, out).value[1], 0) << number << ", " << n << ": it is constant";
    }
  }
}

TEST(Scaling, UnitLengthBeforehandChangesNothingToTheBit) {
  Memory memory;
  Scaling a(ScaleAuto{}, 0, &memory), b(ScaleAuto{}, 0, &memory);
  Rng rng = make_rng(2, 0);
  for (int n = 0; n < 200; ++n) {
    Counts text = make_text(rng, 1000), unit = text;
    const double norm = std::sqrt(squared_norm(text.x()));
    for (double& v : unit.value) v /= norm;
    a.count(text.x());
    b.count(unit.x(norm));
    std::vector<double> va(text.value.size()), vb(va.size());
    a(text.x(), va);
    b(unit.x(norm), vb);
    EXPECT_EQ(va, vb);
    EXPECT_NEAR(squared_norm({{}, va}), 1, 1e-12);
  }
  EXPECT_TRUE(a.changes());
}

TEST(Scaling, LogAndIdfAreTheirParts) {
  Memory memory;
  const Counts x{{1, 4}, {-3, 1}};
  Scaling log(ScaleLog{}, 0, &memory), idf(ScaleIdf{}, 0, &memory);
  std::vector<double> out(2);
  log.count(x.x());
  log(x.x(), out);
  EXPECT_NEAR(out[0] / out[1], -std::log(4) / std::log(2), 1e-13);
  const Counts common{{1}, {7}};
  idf.count(x.x());
  idf.count(common.x());
  idf(x.x(), out);
  EXPECT_NEAR(out[0] / out[1], -3 * std::log(3.0 / 2) / std::log(3.0), 1e-13);
}

/// About standard normal: the sum of twelve uniform numbers.
double normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += uniform(rng);
  return sum;
}

/// An example of a table: the constant, a normal number times `times` plus `plus`, a skewed one, a whole number from 1 to
/// 3,000, two words of many.
Counts row_of_table(Rng& rng, double times, double plus) {
  const double skewed = std::exp(3 * uniform(rng)), whole = 1 + std::floor(uniform(rng) * 3000);
  const Index word = 10 + static_cast<Index>(below(40, rng));
  return {{0, 1, 2, 3, word, word + 50}, {1, normal(rng) * times + plus, skewed, whole, 1, 2}};
}

TEST(Scaling, AutoPutsNumbersInStandardUnitsWhateverTheirScaleAndShift) {
  Memory memory;
  Scaling a(ScaleAuto{}, 0, &memory), b(ScaleAuto{}, 0, &memory);
  Rng of_a = make_rng(7, 0), of_b = make_rng(7, 0);
  double numbers = 0, words = 0;
  for (int n = 0; n < 2000; ++n) {
    const Counts x = row_of_table(of_a, 1, 0), y = row_of_table(of_b, 1000, 5e6);
    a.count(x.x());
    b.count(y.x());
    std::vector<double> out(6), other(6);
    a(x.x(), out);
    b(y.x(), other);
    for (std::size_t k = 0; k < 6 && n > 0; ++k) ASSERT_NEAR(out[k], other[k], 1e-6) << n << " " << k;
    if (n < 1000) continue;
    for (std::size_t k = 1; k < 4; ++k) numbers += out[k] * out[k];
    words += out[4] * out[4] + out[5] * out[5];
  }
  EXPECT_GT(numbers / words, 0.1) << "two words of ten are not to drown three numbers";
  EXPECT_LT(numbers / words, 1);
  EXPECT_NE(a.description().find("numbers in standard units (3"), std::string::npos) << a.description();
}

TEST(Scaling, NumbersGoOnExactlyWhenSaved) {
  Memory memory;
  for (const std::size_t slots : {std::size_t{0}, std::size_t{64}}) {
    Scaling whole(ScaleAuto{}, slots, &memory), parts(ScaleAuto{}, slots, &memory);
    Rng rng = make_rng(8, 0);
    for (int n = 0; n < 900; ++n) {
      const Counts x = row_of_table(rng, 3, 10);
      whole.count(x.x());
      parts.count(x.x());
      std::vector<double> out(6), other(6);
      whole(x.x(), out);
      parts(x.x(), other);
      ASSERT_EQ(out, other) << n;
      if (n % 13 != 0) continue;
      Tensors saved;
      Writer{saved}("scale", parts);
      Scaling back(ScaleAuto{}, 0, &memory);
      Reader reader(saved);
      reader("scale", back);
      Tensors again;
      Writer{again}("scale", back);
      ASSERT_EQ(to_bytes(saved), to_bytes(again)) << n;
      parts.unpack(test::held(back.pack()));
    }
  }
}

TEST(Scaling, LongExamplesTakeTimeInProportion) {
  Memory memory;
  Scaling scaling(ScaleAuto{}, 0, &memory);
  constexpr Index kLong = 100'000, kExamples = 8;
  Counts x{{}, std::vector<double>(kLong, 1.0)};
  for (Index n = 0; n < kExamples; ++n) {  // features that no other has, between those of the others: hours, one by one
    x.index.clear();
    for (Index i = 0; i < kLong; ++i) x.index.push_back(1 + i * kExamples + n);
    scaling.count(x.x());
  }
  EXPECT_EQ(scaling.pack().examples, kExamples);
}

constexpr FeatureKinds kTable{.numbers = 2, .categories = 5000};

/// A row of a table: a count from 0 to 8, a number times `times` plus `plus`, `words` words, a category of three.
Counts row_with_text(Rng& rng, int words, double times = 1, double plus = 0) {
  const double count = static_cast<double>(below(9, rng)), number = normal(rng) * times + plus;
  Counts out{{0, 1, 2}, {1, count, number}};
  std::map<Index, double> bag;
  for (int i = 0; i < words; ++i) bag[3 + static_cast<Index>(uniform(rng) * uniform(rng) * 3000)] += 1;
  for (const auto& [word, times_in_text] : bag) {
    out.index.push_back(word);
    out.value.push_back(times_in_text);
  }
  out.index.push_back(5000 + static_cast<Index>(below(3, rng)));
  out.value.push_back(1);
  return out;
}

double squares(std::span<const double> values) { return squared_norm({{}, values}); }

TEST(Scaling, KnownColumnsWeighTheSameHoweverLongTheTextsAre) {
  Memory memory;
  for (const int words : {5, 134}) {
    Scaling scaling(ScaleAuto{}, 0, &memory);
    scaling.set_kinds(kTable);
    Rng rng = make_rng(11, 0);
    double of_count = 0, zeros = 0, all_zeros = 0;
    for (int n = 0; n < 600; ++n) {
      const Counts x = row_with_text(rng, words);
      scaling.count(x.x());
      std::vector<double> out(x.value.size());
      scaling(x.x(), out);
      if (n < 100) continue;
      const std::size_t last = out.size() - 1;
      const double columns = squares(std::span(out).first(3)) + out[last] * out[last];
      EXPECT_NEAR(columns, squares(std::span(out).subspan(3, last - 3)), 1e-9) << "before any label both are as long";
      of_count += std::abs(out[1]);
      all_zeros += x.value[1] == 0;
      zeros += x.value[1] == 0 && out[1] < 0;
    }
    EXPECT_GT(of_count / 500, 0.2) << words;
    EXPECT_EQ(zeros, all_zeros) << "a 0 is the lowest count, not a missing one";
  }
}

TEST(Scaling, KnownColumnsAreTheSameTimesAThousandAndShifted) {
  Memory memory;
  Scaling a(ScaleAuto{}, 0, &memory), b(ScaleAuto{}, 0, &memory);
  a.set_kinds(kTable);
  b.set_kinds(kTable);
  Rng of_a = make_rng(12, 0), of_b = make_rng(12, 0);
  for (int n = 0; n < 500; ++n) {
    const Counts x = row_with_text(of_a, 20), y = row_with_text(of_b, 20, 1000, 1e4);
    a.count(x.x());
    b.count(y.x());
    std::vector<double> out(x.value.size()), other(out.size());
    a(x.x(), out);
    b(y.x(), other);
    for (std::size_t k = 0; k < out.size() && n > 0; ++k) ASSERT_NEAR(out[k], other[k], 1e-9) << n << " " << k;
  }
}

TEST(Scaling, AMissingNumberIsNothingAndOneOfAConstantColumnToo) {
  Memory memory;
  Scaling scaling(ScaleAuto{}, 0, &memory);
  scaling.set_kinds(kTable);
  for (int n = 0; n < 100; ++n) scaling.count(Counts{{0, 1, 2}, {1, n % 7 + 3.0, 5}}.x());
  std::vector<double> out(2);
  EXPECT_EQ(scaling(Counts{{0, 2}, {1, 5}}.x(), out).value[1], 0);
  EXPECT_GT(out[0], 0);
}

TEST(Scaling, LengthsOfColumnsAndWordsAreLearnedFromLabels) {
  Memory memory;
  Scaling scaling(ScaleAuto{}, 0, &memory);
  scaling.set_kinds(kTable);
  Rng rng = make_rng(13, 0);
  Counts x;
  for (int n = 0; n < 100; ++n) {
    x = row_with_text(rng, 20);
    scaling.count(x.x());
  }
  ASSERT_TRUE(scaling.weighs_parts());
  const auto scaled = [&] {
    std::vector<double> out(x.value.size());
    scaling(x.x(), out);
    return out;
  };
  const std::vector<double> before = scaled();
  for (int n = 0; n < 100; ++n) scaling.learn(n % 2 ? 1 : -1, n % 2 ? 1 : -1, n % 3 ? 1 : -1);
  const std::vector<double> after = scaled();
  EXPECT_GT(std::abs(after[1]), 1.2 * std::abs(before[1])) << "columns are right, words are not";
  EXPECT_LT(std::abs(after[5]), 0.5 * std::abs(before[5]));
  std::vector<double> columns(after.size()), words(after.size());
  scaling.only(Scaling::Part::kColumns, x.x(), after, columns);
  scaling.only(Scaling::Part::kWords, x.x(), after, words);
  EXPECT_NEAR(squares(columns), 1, 1e-12);
  EXPECT_NEAR(squares(words), 1, 1e-12);
  for (std::size_t k = 0; k < after.size(); ++k) EXPECT_TRUE(columns[k] == 0 || words[k] == 0) << k;

  Tensors saved;
  Writer{saved}("scale", scaling);
  Scaling back(ScaleAuto{}, 0, &memory);
  back.set_kinds(kTable);
  Reader reader(saved);
  reader("scale", back);
  std::vector<double> out(after.size());
  back(x.x(), out);
  EXPECT_EQ(out, after);
  scaling.forget_labels();
  EXPECT_EQ(scaled(), before);
}

TEST(Scaling, ABrokenStateOfNumbersIsRefused) {
  Memory memory;
  Scaling scaling(ScaleAuto{}, 0, &memory);
  Rng rng = make_rng(9, 0);
  for (int n = 0; n < 50; ++n) scaling.count(row_of_table(rng, 1, 0).x());
  const auto good = test::held(scaling.pack());
  EXPECT_NO_THROW(Scaling(ScaleAuto{}, 0, &memory).unpack(good));
  const auto expect_refused = [&](auto change) {
    auto bad = good;
    change(bad);
    EXPECT_THROW(Scaling(ScaleAuto{}, 0, &memory).unpack(bad), DataError);
  };
  expect_refused([](auto& p) { p.flags = 16; });
  expect_refused([](auto& p) { p.part_mistakes.pop_back(); });
  expect_refused([](auto& p) { p.spreads.feature[0] = 0xFFFFFFFF; });
  expect_refused([](auto& p) { p.spreads.level.pop_back(); });
  expect_refused([](auto& p) { p.spreads.end[0] = 1'000'000; });
  expect_refused([](auto& p) { p.spreads.numbers[0] = std::nan(""); });
  expect_refused([](auto& p) { p.spreads.sample.push_back(1); });
  expect_refused([](auto& p) { p.spreads.sample[1] = -1e17; });
  expect_refused([](auto& p) { p.spreads.size[0] = 51; });
  expect_refused([](auto& p) { test::edit(p.value_sum)->front() = INFINITY; });
  expect_refused([](auto& p) { test::edit(p.value_squares)->front() = -1; });
  expect_refused([](auto& p) { test::edit(p.value_count)->pop_back(); });
  expect_refused([](auto& p) { test::edit(p.value_feature)->at(1) = 0; });
}

TEST(Scaling, AutoLeavesColumnsThatAreMostlyFullAsTheyAre) {
  Memory memory;
  Scaling columns(ScaleAuto{}, 0, &memory), texts(ScaleAuto{}, 0, &memory);
  Rng rng = make_rng(3, 0);
  for (int n = 0; n < 32; ++n) {
    EXPECT_TRUE(columns.changes());
    columns.count(Counts{{1, 2, 3}, {std::floor(uniform(rng) * 20) + 1, 2, 5}}.x());
    texts.count(make_text(rng, 2000).x());
  }
  EXPECT_FALSE(columns.changes());
  EXPECT_TRUE(texts.changes());
}

TEST(Scaling, AFeatureNeverSeenIsAsRareAsOneSeenOnceAndScoringCountsNothing) {
  Memory memory;
  Scaling scaling(ScaleLogIdf{}, 0, &memory);
  scaling.count(Counts{{1, 2}, {1, 1}}.x());
  scaling.count(Counts{{1}, {1}}.x());
  std::vector<double> out(2);
  scaling(Counts{{2, 77}, {1, 1}}.x(), out);
  EXPECT_EQ(out[0], out[1]);
  EXPECT_EQ(scaling.pack().feature, (Column<std::uint32_t>{1, 2}));
}

TEST(Scaling, NothingToScaleIsNoTrouble) {
  Memory memory;
  Scaling scaling(ScaleAuto{}, 0, &memory);
  std::vector<double> out(1);
  scaling.count({});
  EXPECT_EQ(scaling({}, {}).size(), 0u);
  const Counts zero{{3}, {0}};
  scaling.count(zero.x());
  EXPECT_EQ(scaling(zero.x(), out).value[0], 0);
  EXPECT_TRUE(scaling.pack().feature.empty()) << "a zero is not an occurrence";
}

TEST(Scaling, AFixedTableWithPlacesEnoughScalesAsExactCountsDo) {
  Memory memory;
  for (const Scale& scale : {Scale{ScaleIdf{}}, Scale{ScaleLogIdf{}}, Scale{ScaleAuto{}}}) {
    Scaling exact(scale, 0, &memory), fixed(scale, std::size_t{1} << 20, &memory);
    Rng rng = make_rng(6, 0);
    for (int n = 0; n < 200; ++n) {
      const Counts text = make_text(rng, 100);  // of which no two share a place: see below
      exact.count(text.x());
      fixed.count(text.x());
      ASSERT_EQ(exact.changes(), fixed.changes());
      std::vector<double> a(text.value.size()), b(a.size());
      exact(text.x(), a);
      fixed(text.x(), b);
      ASSERT_EQ(a, b);
    }
  }
  HashedCells<int> table(std::size_t{1} << 20, &memory);
  std::map<const int*, int> places;
  for (Index word = 0; word < 100; ++word) ++places[&table.at(0, word)];
  EXPECT_EQ(places.size(), 100u);
}

TEST(Scaling, AFixedTableNeverGrowsAndFeaturesThatShareACountStayFinite) {
  for (const std::size_t slots : {1u, 7u, 1000u}) {
    Memory memory;
    Scaling scaling(ScaleLogIdf{}, slots, &memory);
    const std::size_t bytes = memory.bytes();
    EXPECT_EQ(bytes, slots * sizeof(std::uint32_t));
    Rng rng = make_rng(7, 0);
    for (int n = 0; n < 300; ++n) {
      const Counts text = make_text(rng, 5000);
      scaling.count(text.x());
      std::vector<double> out(text.value.size());
      scaling(text.x(), out);
      for (const double v : out) ASSERT_TRUE(v >= 0 && v <= 1);
      const double length = squared_norm({{}, out});
      ASSERT_TRUE(length == 0 || std::abs(length - 1) < 1e-12)
          << "0: every place was met more often than there are examples";
    }
    EXPECT_EQ(memory.peak(), bytes);
  }
}

TEST(Scaling, SavedAndLoadedItGoesOnToTheBit) {
  Memory memory;
  for (const std::size_t slots : {std::size_t{0}, std::size_t{50}})
    for (const int saved_after : {0, 20, 31, 32, 100}) {  // before and after `auto` knows how full instances are
      Scaling a(ScaleAuto{}, slots, &memory), b(ScaleAuto{}, 0, &memory);
      Rng rng = make_rng(8, 0);
      for (int n = 0; n < saved_after; ++n) a.count(make_text(rng, 300).x());
      Tensors saved;
      Writer{saved}("scale", a);
      Reader reader(saved);
      reader("scale", b);
      for (int n = 0; n < 60; ++n) {
        const Counts text = make_text(rng, 300);
        a.count(text.x());
        b.count(text.x());
        ASSERT_EQ(a.changes(), b.changes());
        std::vector<double> va(text.value.size()), vb(va.size());
        a(text.x(), va);
        b(text.x(), vb);
        ASSERT_EQ(va, vb) << slots << " " << saved_after << " " << n;
      }
      EXPECT_EQ(a.pack().df, b.pack().df);
      EXPECT_EQ(a.pack().df.size() == slots, b.pack().feature.empty());
    }
}

TEST(Scaling, ABrokenStateIsRefusedAndChangesNothing) {
  Memory memory;
  Scaling scaling(ScaleLogIdf{}, 0, &memory);
  scaling.count(Counts{{1, 2}, {1, 1}}.x());
  const auto good = test::held(scaling.pack());
  const auto expect_refused = [&](auto change) {
    auto bad = good;
    change(bad);
    EXPECT_THROW(scaling.unpack(bad), DataError);
    EXPECT_EQ(scaling.pack().df, good.df);
  };
  expect_refused([](auto& p) { test::edit(p.df)->front() = 0; });
  expect_refused([](auto& p) { test::edit(p.df)->front() = 2; });
  expect_refused([](auto& p) { test::edit(p.feature)->at(1) = 1; });
  expect_refused([](auto& p) { test::edit(p.feature)->at(1) = 0xFFFFFFFF; });
  expect_refused([](auto& p) { test::edit(p.df)->pop_back(); });
  expect_refused([](auto& p) { p.dense = 2; });
  expect_refused([](auto& p) { p.examples = std::uint64_t{1} << 40; });
  scaling.unpack(good);
  EXPECT_EQ(scaling.pack().feature, good.feature);
}

}  // namespace
}  // namespace quorate
