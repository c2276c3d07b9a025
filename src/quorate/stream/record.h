// One line of data as it was written: nothing hashed, scaled or mapped yet.
#pragma once
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/features.h"

namespace quorate {

/// One feature of a record.
struct Entry {
  enum class Kind {
    kIndex,   ///< a number is its place: SVMlight, JSON arrays, names that are plain numbers
    kColumn,  ///< a numeric column of a CSV file; index counts these columns
    kName,    ///< a name: JSON keys, VW features, values of categorical columns
  };
  Kind kind = Kind::kIndex;
  Index index = 0;        // kIndex, kColumn
  std::string_view name;  // kColumn, kName
  double value = 0;       // finite
};

/// Views live until the reader's next record. An empty id, task, label or time was not given.
struct Record {
  std::string_view id, task, label;
  std::string_view time;          ///< as written
  std::optional<double> seconds;  ///< what it says, see parse_time; set by readers, not looked at by writers
  std::string_view text;
  bool has_text = false;
  std::vector<Entry> entries;

  void clear() {
    id = task = label = time = text = {};
    seconds.reset();
    has_text = false;
    entries.clear();
    used_ = 0;
  }
  /// A copy of `text` that lives as long as the record's views.
  std::string_view keep(std::string_view text_to_keep) {
    if (used_ == kept_.size()) kept_.emplace_back();
    return kept_[used_++] = text_to_keep;
  }

 private:
  std::deque<std::string> kept_;
  std::size_t used_ = 0;
};

/// Whether `name` is a whole number as one writes it (no sign, no leading zero), up to kMaxIndex; then *index is that.
bool plain_number(std::string_view name, Index* index);

/// `value` in the fewest digits that read back as the same number.
std::string shortest(double value);

}  // namespace quorate
