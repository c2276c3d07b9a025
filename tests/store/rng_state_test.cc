#include "quorate/store/rng_state.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>

#include "quorate/base/error.h"

namespace quorate {
namespace {

TEST(RngState, AGeneratorGoesOnWhereItsWordsSay) {
  Rng rng = make_rng(7, 1);
  for (int n = 0; n < 1000; ++n) rng();
  Rng again = rng_of(words_of(rng));
  for (int n = 0; n < 1000; ++n) ASSERT_EQ(again(), rng());
}

#ifdef __GLIBCXX__
TEST(RngState, IsThatOfTheStandardLibraryOfGcc) {
  for (const unsigned long long draws : {0U, 1U, 311U, 312U, 313U, 1000U}) {
    Rng rng(9);
    std::mt19937_64 standard(9);
    rng.discard(draws);
    standard.discard(draws);
    std::stringstream text;
    text << standard;
    std::vector<std::uint64_t> words;
    for (std::uint64_t word = 0; text >> word;) words.push_back(word);
    EXPECT_EQ(words_of(rng), words) << draws;
  }
}
#endif

TEST(RngState, OtherNumbersAreRefused) {
  auto words = words_of(make_rng(7, 1));
  const auto good = words;
  words.pop_back();
  EXPECT_THROW(rng_of(words), DataError);
  words = good;
  words.push_back(1);
  EXPECT_THROW(rng_of(words), DataError);
  words = good;
  words.back() = 313;
  EXPECT_THROW(rng_of(words), DataError);
  EXPECT_THROW(rng_of({}), DataError);
}

}  // namespace
}  // namespace quorate
