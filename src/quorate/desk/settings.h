// The settings of a desk: the learner and its label budget, the labels that annotators choose from, leases.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/model/learning_options.h"
#include "quorate/registry.h"
#include "quorate/stream/featurize.h"
#include "quorate/stream/formats.h"

namespace quorate {

/// The number of journal files kept before the snapshots, or all of them.
struct KeepJournal {
  std::optional<std::uint64_t> files = {};  ///< none: all

  static constexpr std::string_view kExpected = "a number, or all";
  static std::optional<KeepJournal> parse(std::string_view text);
  bool operator==(const KeepJournal&) const = default;
};
std::string to_text(const KeepJournal& keep);

/// The desk's own settings, which may change later; learner, features and reading have separate ones.
struct DeskOptions {
  std::string name = "", prompt = "", guidelines = "";
  double lease = 300;
  std::uint64_t open = 50, pool = 2'000;
  double opinions = 0;
  std::optional<std::uint64_t> labels_per_annotator;
  std::optional<double> hold;
  KeepJournal keep_journal = {};
  std::string archive = "";

  static constexpr auto fields() {
    using O = DeskOptions;
    return std::tuple{
        Field{&O::name, "name", kAny, "name of the project on the page (default: that of the folder)", ""},
        Field{&O::guidelines, "guidelines", kAny, "Markdown file that annotators can open", ""},
        Field{&O::prompt, "prompt", kAny, "the question that annotators read, as \"Is this email spam?\"", ""},
        Field{&O::lease, "lease", Interval{10, 86400},
              "seconds for which a question belongs to the annotator who got it; the page renews it", ""},
        Field{
            &O::open, "open-questions", Interval{1, 1e6},
            "open questions at a time; beyond that those with the most certain predictions are withdrawn, and their labels "
            "return to the budget",
            ""},
        Field{&O::pool, "pool", Interval{0, 1e6},
              "latest examples without a question that compete with the open questions for the next lease", ""},
        Field{&O::opinions, "opinions", Interval{0, 1},
              "share of the questions that a second annotator answers, too, to measure how often they agree", ""},
        Field{&O::labels_per_annotator, "labels-per-annotator", Interval{1},
              "answers of one annotator in 24 hours, a hard limit (default: none)", ""},
        Field{&O::hold, "hold", Interval{0, 3600},
              "seconds between an answer and learning from it, during which undo is exact for every learner (default: 30 if "
              "the "
              "learner cannot be rebuilt or no labels are kept, else 0: undo is exact as long as the label is kept)",
              ""},
        Field{&O::keep_journal, "keep-journal", kAny,
              "files of events that are kept before the two newest snapshots: a number, or all; 0: only the newest snapshot "
              "and "
              "the events after it, so that nothing forgotten stays on disk",
              ""},
        Field{&O::archive, "archive", kAny,
              "folder that files of events are moved to, instead of being removed; needs --keep-journal, 1 or more", ""}};
  }

  std::string to_json() const;                          ///< values that differ from the defaults
  static DeskOptions from_json(std::string_view text);  ///< throws DataError, UsageError
  void check() const;                                   ///< throws UsageError for an archive that no file is moved to
};

struct DeskSettings {
  std::string learner = "cohort";  ///< spec
  std::string positive, negative;  ///< the two labels; both empty with classes
  std::vector<std::string> classes;
  std::string reduction = "one-vs-rest";  ///< with classes
  LearningOptions learning;
  FeatureSettings features;
  ReadOptions reading;  ///< names of columns
  DeskOptions desk;
  std::string secret = "";  ///< key of the leases, so that they cannot be guessed

  /// One line of JSON, with every value; read back by from_json. Throws DataError, UsageError.
  std::string to_json() const;
  static DeskSettings from_json(std::string_view text);
};

}  // namespace quorate
