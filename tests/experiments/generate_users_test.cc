#include "quorate/experiments/generate_users.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "quorate/base/error.h"

namespace quorate::test {
namespace {

struct Mail {
  std::uint32_t user;
  int label;
  std::uint64_t time;
  std::vector<std::pair<Index, std::uint32_t>> words;
  bool operator==(const Mail&) const = default;
};

std::vector<Mail> make(const UserOptions& o) {
  std::vector<Mail> out;
  generate_users(o, [&](const UserEmail& mail) {
    out.push_back({mail.user, mail.label, mail.time, {}});
    for (const WordCount& w : mail.words) out.back().words.emplace_back(w.word, w.count);
    return true;
  });
  return out;
}

/// How often each word came in mails with this label (0: any) that `which` takes.
template <class Which>
std::map<Index, double> counts(const std::vector<Mail>& mails, int label, Which which) {
  std::map<Index, double> out;
  for (const Mail& m : mails)
    if ((label == 0 || m.label == label) && which(m))
      for (const auto& [word, count] : m.words) out[word] += count;
  return out;
}
bool every(const Mail&) { return true; }

/// The share of the words from first to last (numbers) that came in spam, or NaN.
double spam_share(const std::vector<Mail>& mails, Index first, Index last) {
  double spam = 0, all = 0;
  for (const Mail& m : mails)
    for (const auto& [word, count] : m.words)
      if (word >= first && word <= last) all += count, spam += m.label > 0 ? count : 0;
  return spam / all;
}

TEST(Users, ASeedDecidesAll) {
  const UserOptions o{.tasks = 50, .examples = 500, .seed = 7, .every = 100};
  EXPECT_EQ(make(o), make(o));
  UserOptions other = o;
  other.seed = 8;
  EXPECT_NE(make(o), make(other));
}

TEST(Users, TheBytesStayWhatTheyWere) {  // the same from every compiler, and from every version
  const auto mails = make({.tasks = 50, .examples = 2'000, .seed = 3, .exponent = 0.75, .words = 500, .every = 300});
  std::uint64_t sum = 0;
  for (const Mail& m : mails) {
    sum = sum * 31 + m.user;
    sum = sum * 31 + static_cast<std::uint64_t>(m.label + 1);
    for (const auto& [word, count] : m.words) sum = (sum * 31 + word) * 31 + count;
  }
  EXPECT_EQ(sum, 2069436079949168881u);
}

TEST(Users, AMailIsWhatTheModelSays) {
  const UserOptions o{.tasks = 20, .examples = 20'000, .words = 100, .length = 9, .spam = 0.3, .every = 1'000, .days = 3};
  const auto mails = make(o);
  ASSERT_EQ(mails.size(), o.examples);
  std::map<std::uint64_t, int> lengths;
  double spam = 0;
  for (std::size_t n = 0; n < mails.size(); ++n) {
    EXPECT_TRUE(mails[n].user >= 1 && mails[n].user <= o.tasks);
    EXPECT_EQ(mails[n].time, UserOptions::kStart + n * 3 * 86'400 / o.examples);
    std::uint64_t length = 0;
    Index last = 0;
    for (const auto& [word, count] : mails[n].words) {
      EXPECT_GT(word, last) << "each once, in order";
      EXPECT_GE(count, 1u);
      last = word;
      length += count;
    }
    ++lengths[length];
    spam += mails[n].label > 0;
  }
  EXPECT_NEAR(spam / 20'000, 0.3, 0.02);
  EXPECT_EQ(lengths.begin()->first, 5u);
  EXPECT_EQ(lengths.rbegin()->first, 13u);
  for (const auto& [length, count] : lengths) EXPECT_NEAR(count, 20'000 / 9.0, 300) << length;
}

TEST(Users, TheirMailFollowsZipfsLaw) {
  for (const double exponent : {0.0, 0.5, 1.0, 1.5, 2.0}) {
    const std::uint64_t n = 200'000;
    const auto mails = make({.tasks = 30, .examples = n, .exponent = exponent, .words = 10, .length = 1});
    std::vector<double> came(31);
    for (const Mail& m : mails) ++came[m.user];
    double all = 0;
    for (int k = 1; k <= 30; ++k) all += std::pow(k, -exponent);
    for (std::size_t k = 1; k <= 30; ++k) {
      const double expected = static_cast<double>(n) * std::pow(static_cast<double>(k), -exponent) / all;
      EXPECT_NEAR(came[k], expected, 5 * std::sqrt(expected)) << exponent << " " << k;
    }
  }
}

TEST(Users, NeutralAndLeaningWordsFollowZipfsLaw) {
  const auto mails = make({.tasks = 1, .examples = 20'000, .words = 1'000, .personal = 0, .replaced = 0});
  const auto all = counts(mails, 0, every);
  for (const Index first : {1u, 101u, 201u})  // spam, ham, neutral
    for (const Index k : {2u, 5u, 20u}) EXPECT_NEAR(all.at(first) / all.at(first + k - 1), k, 0.15 * k) << first << " " << k;
}

TEST(Users, SharedWordsLeanForAllAndPersonalOnesForOne) {
  const UserOptions shared{.tasks = 2, .examples = 20'000, .exponent = 0, .words = 1'000, .personal = 0, .replaced = 0};
  const auto mails = make(shared);
  EXPECT_NEAR(spam_share(mails, 1, 100), 0.9, 0.01);
  EXPECT_NEAR(spam_share(mails, 101, 200), 0.1, 0.01);
  EXPECT_NEAR(spam_share(mails, 201, 1000), 0.5, 0.01);

  UserOptions personal = shared;
  personal.personal = 1;
  // With nothing neutral and nothing shared all that is left are the personal words.
  personal.signal = 1;
  const auto own = make(personal);
  std::size_t words = 0, clear = 0;
  for (const std::uint32_t user : {1u, 2u}) {
    const auto of_user = [&](const Mail& m) { return m.user == user; };
    const auto spam = counts(own, 1, of_user), all = counts(own, 0, of_user);
    words += all.size();
    for (const auto& [word, count] : all) {
      const double share = spam.contains(word) ? spam.at(word) / count : 0;
      clear += std::abs(share - 0.9) < 0.03 || std::abs(share - 0.1) < 0.03;
    }
  }
  EXPECT_NEAR(static_cast<double>(words), 2 * UserOptions::kPersonal, 3) << "a hash may name a word twice";
  EXPECT_NEAR(static_cast<double>(clear), static_cast<double>(words), 2);
}

TEST(Users, APersonalWordMayContradictWhatAllSay) {
  // One user; 40 places: a user's 20 words meet the leaning ones.
  bool against = false;
  for (std::uint64_t seed = 1; seed <= 20 && !against; ++seed) {
    const auto mails =
        make({.tasks = 1, .examples = 2'000, .seed = seed, .words = 40, .signal = 1, .personal = 1, .replaced = 0});
    for (Index word = 1; word <= 4; ++word) against = against || spam_share(mails, word, word) < 0.2;
  }
  EXPECT_TRUE(against);
}

TEST(Users, SpamWordsAreReplacedByNewOnes) {
  const UserOptions o{.tasks = 5, .examples = 10'000, .words = 200, .personal = 0, .every = 5'000, .replaced = 0.5};
  const auto mails = make(o);
  const auto before = [&](const Mail& m) { return &m - mails.data() < 5'000; };
  const auto after = [&](const Mail& m) { return &m - mails.data() >= 5'000; };
  const auto first = counts(mails, 0, before), second = counts(mails, 0, after);
  EXPECT_LE(first.rbegin()->first, 200u);
  std::size_t gone = 0, fresh = 0;
  for (Index word = 1; word <= 20; ++word) gone += !second.contains(word);
  for (Index word = 201; word <= 220; ++word) fresh += second.contains(word);
  EXPECT_EQ(gone, fresh);
  EXPECT_TRUE(gone >= 4 && gone <= 16) << gone << " of 20, one in two";
  EXPECT_NEAR(spam_share(mails, 201, 220), 0.9, 0.03) << "they mean what the old ones meant";
  for (Index word = 21; word <= 60; ++word) EXPECT_EQ(first.contains(word), second.contains(word)) << "others stay";

  UserOptions still = o;
  still.replaced = 0;
  EXPECT_LE(counts(make(still), 0, every).rbegin()->first, 200u);
}

TEST(Users, NoiseIsTheShareOfWrongLabels) {
  const UserOptions clean{.tasks = 10, .examples = 20'000, .words = 100};
  UserOptions noisy = clean;
  noisy.noise = 0.2;
  const auto a = make(clean), b = make(noisy);
  double wrong = 0;
  for (std::size_t n = 0; n < a.size(); ++n) {
    ASSERT_EQ(a[n].words, b[n].words) << "the same mails";
    wrong += a[n].label != b[n].label;
  }
  EXPECT_NEAR(wrong / 20'000, 0.2, 0.02);
}

TEST(Users, TheSinkMayEndIt) {
  int taken = 0;
  generate_users({.examples = 1'000}, [&](const UserEmail&) { return ++taken < 10; });
  EXPECT_EQ(taken, 10);
}

TEST(Users, ExtremesAreNoTrouble) {
  for (const UserOptions& o :
       {UserOptions{.tasks = 1, .examples = 50, .words = 10, .length = 1}, UserOptions{.examples = 50, .signal = 0},
        UserOptions{.examples = 50, .signal = 1, .personal = 1}, UserOptions{.examples = 50, .spam = 1},
        UserOptions{.examples = 50, .exponent = 4, .every = 1, .replaced = 1}, UserOptions{.examples = 1, .days = 36'500}})
    EXPECT_EQ(make(o).size(), o.examples);
}

TEST(Users, OptionsOutOfRangeAreRefused) {
  for (const UserOptions& bad : {UserOptions{.tasks = 0},       UserOptions{.tasks = 10'000'001},
                                 UserOptions{.examples = 0},    UserOptions{.examples = 4'000'000'001},
                                 UserOptions{.exponent = -0.1}, UserOptions{.exponent = NAN},
                                 UserOptions{.exponent = 4.1},  UserOptions{.words = 9},
                                 UserOptions{.length = 0},      UserOptions{.length = 10'001},
                                 UserOptions{.spam = 1.1},      UserOptions{.signal = -1},
                                 UserOptions{.personal = 2},    UserOptions{.personal = NAN},
                                 UserOptions{.noise = 0.6},     UserOptions{.every = 0},
                                 UserOptions{.replaced = 1.5},  UserOptions{.days = 0},
                                 UserOptions{.days = 36'501},   UserOptions{.examples = 4'000'000'000, .every = 1}})
    EXPECT_THROW(generate_users(bad, [](const UserEmail&) { return false; }), UsageError);
}

}  // namespace
}  // namespace quorate::test
