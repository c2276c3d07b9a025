// Runs what papers/NAME.json describes: published tables and figures beside ours.
#pragma once
#include <atomic>
#include <stop_token>
#include <string>

#include "quorate/experiments/measures.h"

namespace quorate::papers {

struct ReproduceOptions {
  std::string name;                               ///< of a paper, or "all"
  std::string papers = "papers", data = "data";   ///< folders of the papers' files and of the prepared data sets
  std::string plot_dir;                           ///< figures are drawn into this folder; empty: not at all
  std::string report;                             ///< a Markdown page is written here; empty: none
  std::uint64_t runs = 0, threads = 2, seed = 1;  ///< runs 0: the paper's number
  std::stop_token stop;
};

/// How far all of it is; groups are taken to be alike.
struct Done {
  std::size_t groups = 1;  // in all
  std::atomic<std::size_t> ended = 0;
  std::atomic<double> examples = 1;  // of the group under way
  std::atomic<std::uint64_t> learned = 0, learned_before = 0;

  double fraction() const {
    return (static_cast<double>(ended) + static_cast<double>(learned) / examples) / static_cast<double>(groups);
  }
  void end_group() {
    learned_before += learned.exchange(0);
    ++ended;
  }
};

struct Reproduced {
  Json document;               ///< of `quorate reproduce --json`
  std::string markdown;        ///< the report without its preface
  std::string interrupted_in;  ///< the paper at which it was stopped; nothing is written then
};

/// Throws UsageError, DataError (also for a paper that is not of the form of the others), FileError, and as simulate().
/// `done` may be read by another thread meanwhile.
Reproduced reproduce(const ReproduceOptions& options, Done& done);

}  // namespace quorate::papers
