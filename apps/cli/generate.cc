// quorate generate: data that are made, for experiments.
#include <charconv>
#include <iostream>

#include "common.h"
#include "help.h"
#include "quorate/experiments/generate_drift.h"
#include "quorate/experiments/generate_users.h"
#include "quorate/store/files.h"
#include "quorate/stream/record.h"

namespace quorate::cli {
namespace {

/// Where made data go.
struct Target {
  std::string out, to;
  ProgressOptions progress;

  void add(CLI::App& app, std::uint64_t& seed) {
    app.add_option("out", out, "file to write; - for standard output")->required()->type_name("FILE");
    choose(app.add_option("--to", to, "format to write (default: by the file name)"), names_of_formats());
    app.add_option("--seed", seed, "seed of everything")->check(whole(0))->capture_default_str();
    progress.add(app);
  }
  const FileFormat& format() const { return to.empty() ? format_of(out) : format_named(to); }

  /// Writes what `make(take)` gives to take(record); take returns whether to go on. Nothing is left of it after Ctrl-C.
  int write(std::uint64_t examples, RecordWriter& writer,
            const std::function<void(const std::function<bool(const Record&)>&)>& make) const {
    const std::stop_token stop = interrupt();
    OutputFile file(out);
    file.write(writer.header());
    std::atomic<std::uint64_t> seen = 0;
    {
      const Progress progress_line(
          progress, [&] { return static_cast<double>(seen) / static_cast<double>(examples); }, [&] { return seen.load(); },
          out == "-");
      make([&](const Record& record) {
        if (stop.stop_requested()) return false;
        file.write(writer.line(record));
        ++seen;
        return true;
      });
    }
    if (stop.stop_requested()) {
      std::cerr << "quorate: interrupted" << (out == "-" ? "\n" : "; " + out + " is not written\n");
      return kInterrupted;
    }
    file.commit();
    return kDone;
  }
};

int run_drift(const Target& target, const DriftOptions& o) {
  std::vector<std::string> columns;
  for (std::uint64_t f = 1; f <= o.features; ++f) columns.push_back(std::to_string(f));
  const auto writer = target.format().write({.features = columns});
  return target.write(o.examples, *writer, [&](const std::function<bool(const Record&)>& take) {
    std::uint64_t number = 0;
    bool more = true;
    Record record;
    generate_drift(o, [&](Task k, Answer label, std::span<const double> x) {
      if (!more) return;
      record.clear();
      record.id = record.keep(std::to_string(++number));
      record.task = record.keep("task" + std::to_string(k));
      record.label = label > 0 ? "1" : "-1";
      for (std::size_t f = 0; f < x.size(); ++f)
        record.entries.push_back({Entry::Kind::kIndex, static_cast<Index>(f + 1), columns[f], x[f]});
      more = take(record);
    });
  });
}

int run_users(const Target& target, const UserOptions& o) {
  const FileFormat& format = target.format();
  if (format.has_header)
    throw UsageError(
        "format " + std::string(format.name) +
        " needs a column for every word, and words keep changing; expected a format without a header, as jsonl");
  const auto writer = format.write({});
  return target.write(o.examples, *writer, [&](const std::function<bool(const Record&)>& take) {
    std::string text;               // of the record's views
    std::vector<std::size_t> ends;  // of the pieces of text
    const auto add = [&](char first, std::uint64_t value) {
      char digits[24];
      if (first != 0) text += first;
      text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
      ends.push_back(text.size());
    };
    std::uint64_t number = 0;
    Record record;
    generate_users(o, [&](const UserEmail& email) {
      text.clear();
      ends.clear();
      add(0, ++number);
      add('u', email.user);
      add(0, email.time);
      for (const WordCount& w : email.words) add('w', w.word);
      std::size_t piece = 0;
      const auto next = [&] {
        const std::size_t begin = piece == 0 ? 0 : ends[piece - 1];
        return std::string_view(text).substr(begin, ends[piece++] - begin);
      };
      record.clear();
      record.id = next();
      record.task = next();
      record.time = next();
      record.label = email.label > 0 ? "1" : "-1";
      // As columns: names where the format has names, and the same numbers in SVMlight.
      for (const WordCount& w : email.words)
        record.entries.push_back({Entry::Kind::kColumn, w.word - 1, next(), static_cast<double>(w.count)});
      return take(record);
    });
  });
}

}  // namespace

Command add_generate(CLI::App& app) {
  const auto target = std::make_shared<Target>();
  const auto shift = std::make_shared<std::string>("together");
  const auto drift_options = std::make_shared<DriftOptions>();
  const auto user_options = std::make_shared<UserOptions>();
  app.require_subcommand(1);

  CLI::App* drift = app.add_subcommand("drift", "related linear tasks whose targets move");
  DriftOptions& d = *drift_options;
  target->add(*drift, d.seed);
  drift->add_option("--tasks", d.tasks, "number of tasks, which alternate")
      ->check(whole(1, 1'000'000))
      ->capture_default_str();
  drift->add_option("--features", d.features, "features of an instance")->check(whole(2, 100'000))->capture_default_str();
  drift->add_option("--examples", d.examples, "number of examples")->check(whole(1))->capture_default_str();
  drift->add_option("--related", d.related, "similarity of the targets, 0 to 1")->capture_default_str();
  choose(drift->add_option("--shift", *shift, "targets move together, apart, or not (none)"), {"together", "apart", "none"})
      ->capture_default_str();
  drift->add_option("--every", d.every, "examples between two shifts")->check(whole(1))->capture_default_str();
  drift->add_option("--angle", d.angle, "angle of a shift in radians, in a random plane")->capture_default_str();
  drift->add_option("--noise", d.noise, "probability that a label is wrong, 0 to 0.5")->capture_default_str();
  drift->footer(
      "Example:\n  quorate generate drift stream.csv --tasks 8 --shift apart\n  quorate simulate --data stream.csv "
      "--in-order --learner budget-projectron");

  CLI::App* users = app.add_subcommand("users", "emails of many users; label 1 is spam");
  UserOptions& u = *user_options;
  target->add(*users, u.seed);
  users->add_option("--tasks", u.tasks, "number of users, called u1, u2, ...")
      ->check(whole(1, 10'000'000))
      ->capture_default_str();
  users->add_option("--examples", u.examples, "number of emails")->check(whole(1, 4'000'000'000))->capture_default_str();
  users->add_option("--exponent", u.exponent, "user k gets emails in proportion to k^-EXPONENT, 0 (all equal) to 4")
      ->capture_default_str();
  users->add_option("--words", u.words, "size of the vocabulary w1, w2, ...")
      ->check(whole(10, 10'000'000))
      ->capture_default_str();
  users->add_option("--length", u.length, "mean words of an email")->check(whole(1, 10'000))->capture_default_str();
  users->add_option("--spam", u.spam, "probability of spam, 0 to 1")->capture_default_str();
  users->add_option("--signal", u.signal, "share of words that indicate spam or not, 0 to 1")->capture_default_str();
  users->add_option("--personal", u.personal, "share of those that do so for one user only, 0 to 1")->capture_default_str();
  users->add_option("--noise", u.noise, "probability that a label is wrong, 0 to 0.5")->capture_default_str();
  users->add_option("--every", u.every, "emails between two replacements of spam words")
      ->check(whole(1))
      ->capture_default_str();
  users->add_option("--replaced", u.replaced, "probability that a spam word is replaced, 0 to 1")->capture_default_str();
  users
      ->add_option("--days", u.days,
                   "days from 2026-01-01 over which the emails are spread, as seconds since 1970 in \"time\"")
      ->check(whole(1, 36'500))
      ->capture_default_str();
  users->footer(
      "The number of emails per user follows Zipf's law. Some words indicate spam, or not, for all users, some for one user "
      "only; the others are neutral.\nExample:\n  quorate generate users emails.jsonl --tasks 200 --examples 20000\n  "
      "quorate "
      "simulate --data emails.jsonl --in-order --learner cmtl\n  quorate generate users - --to jsonl --tasks 1000000 "
      "--examples "
      "10000000 | quorate train --data - --format jsonl --model m --learner perceptron");

  return [=] {
    if (users->parsed()) return run_users(*target, *user_options);
    drift_options->shift = shift_named(*shift);
    return run_drift(*target, *drift_options);
  };
}

}  // namespace quorate::cli
