// A stream that is made, not read: the mail of many users, spam and not, whose words say something to all or to one.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "quorate/base/features.h"

namespace quorate {

/// The model. A mail comes to user k with a chance in proportion to k^-exponent (Zipf's law; user 1 has the most). It is
/// spam with chance `spam`, and has length - length/2 to length + length/2 words, drawn one by one, with repetition:
///
/// - a share 1 - signal of them is neutral: a word by Zipf's law, whatever the class;
/// - a share signal (1 - personal) leans for all users alike: nine times in ten a word of the mail's class, else of the
///   other; which of the spam or ham words, again by Zipf's law;
/// - a share signal personal leans for this user alone: one of the user's kPersonal words, half of which mean spam to the
///   user and half do not; nine times in ten of the mail's class, too. A user's words are places of the whole vocabulary
///   that a hash of seed, user and slot names: to other users they are any word, and may lean the other way.
///
/// Of the places of the vocabulary the first tenth holds spam words, the second ham words, the others neutral words,
/// numbered 1, 2, ... at first. After every `every` mails each spam word is replaced, with chance `replaced`, by a word with
/// the next number never used; the old one does not come again.
struct UserOptions {
  static constexpr std::uint64_t kPersonal = 20;
  static constexpr std::uint64_t kStart = 1'767'225'600;  ///< time of the first mail: 2026-01-01

  std::uint64_t tasks = 1'000, examples = 10'000, seed = 1;
  double exponent = 1;            ///< of the users' law, 0 (all alike) to 4; rounded to a multiple of 1/1024
  std::uint64_t words = 5'000;    ///< places of the vocabulary, at least 10
  std::uint64_t length = 30;      ///< words of a mail on average, 1 to 10,000
  double spam = 0.5;              ///< chance that a mail is spam
  double signal = 0.3;            ///< share of the words that lean
  double personal = 0.5;          ///< share of the leaning words that lean for one user only
  double noise = 0;               ///< chance that a label is wrong, 0 to 0.5
  std::uint64_t every = 100'000;  ///< mails between two replacements
  double replaced = 0.1;          ///< chance of a spam word to be replaced then
  std::uint64_t days = 100;       ///< that the mails are spread over evenly, 1 to 36,500
};

/// A word of a mail and how often it comes.
struct WordCount {
  Index word = 0;  ///< its number, from 1
  std::uint32_t count = 0;
};

struct UserMail {
  std::uint32_t user = 0;            ///< from 1
  int label = 0;                     ///< +1 spam, -1 not
  std::uint64_t time = 0;            ///< seconds since 1970-01-01 UTC, never less than before
  std::span<const WordCount> words;  ///< by number, each once; valid during the call
};

/// sink(mail) for every mail in order of time; it returns whether to go on. Memory O(tasks + words); a mail costs O(words in
/// it). Draws: generator 2 of the seed. The same bits everywhere. Throws UsageError for options out of range.
void generate_users(const UserOptions& options, const std::function<bool(const UserMail&)>& sink);

}  // namespace quorate
