// Generates emails of many users, spam or not, with words that indicate the class for all users or for one.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "quorate/base/features.h"

namespace quorate {

/// The model. An email goes to user k with a probability proportional to k^-exponent (Zipf's law; user 1 has the most). It
/// is spam with probability `spam`, and has length - length/2 to length + length/2 words, drawn one by one, with repetition:
///
/// - a share 1 - signal is neutral: a word by Zipf's law, independent of the class;
/// - a share signal (1 - personal) indicates the class for all users: with probability 0.9 a word of the email's class, else
///   of the other; which of the spam or ham words, again by Zipf's law;
/// - a share signal personal indicates the class for this user only: one of the user's kPersonal words, half of them spam
///   words of the user; with probability 0.9 of the email's class, too. A hash of seed, user and slot gives the place of
///   such a word in the whole vocabulary: for other users it is any word, and may indicate the other class.
///
/// The first tenth of the places of the vocabulary has spam words, the second tenth ham words, the rest neutral words;
/// initially numbered 1, 2, ... After every `every` emails each spam word is replaced, with probability `replaced`, by a
/// word with the next unused number; the old one is never used again.
struct UserOptions {
  static constexpr std::uint64_t kPersonal = 20;
  static constexpr std::uint64_t kStart = 1'767'225'600;  ///< time of the first email: 2026-01-01

  std::uint64_t tasks = 1'000, examples = 10'000, seed = 1;
  double exponent = 1;            ///< of the users' law, 0 (all equal) to 4; rounded to a multiple of 1/1024
  std::uint64_t words = 5'000;    ///< places of the vocabulary, at least 10
  std::uint64_t length = 30;      ///< mean words of an email, 1 to 10,000
  double spam = 0.5;              ///< probability that an email is spam
  double signal = 0.3;            ///< share of the words that indicate the class
  double personal = 0.5;          ///< share of those that do so for one user only
  double noise = 0;               ///< probability that a label is wrong, 0 to 0.5
  std::uint64_t every = 100'000;  ///< emails between two replacements
  double replaced = 0.1;          ///< probability that a spam word is replaced then
  std::uint64_t days = 100;       ///< over which the emails are spread evenly, 1 to 36,500
};

/// A word of an email and its count.
struct WordCount {
  Index word = 0;  ///< its number, from 1
  std::uint32_t count = 0;
};

struct UserEmail {
  std::uint32_t user = 0;            ///< from 1
  int label = 0;                     ///< +1 spam, -1 ham
  std::uint64_t time = 0;            ///< seconds since 1970-01-01 UTC, never less than before
  std::span<const WordCount> words;  ///< in order of numbers, each once; valid during the call
};

/// Calls sink(email) for every email in order of time; sink returns whether to continue. Memory O(tasks + words); an email
/// costs O(its words). Draws: generator 2 of the seed. The same bits on every machine. Throws UsageError for options out
/// of range.
void generate_users(const UserOptions& options, const std::function<bool(const UserEmail&)>& sink);

}  // namespace quorate
