// One line of data as it was written: nothing hashed, scaled or mapped yet.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
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
  bool category = false;  // of kName: says which of a few words a column has, or that it has none
};

/// Raw text and the column or key that holds it.
struct RawText {
  std::string_view name, text;
};

/// Views live until the reader's next record. An empty id, task, label or time was not given.
struct Record {
  std::string_view id, task, label;
  std::string_view time;          ///< as written
  std::optional<double> seconds;  ///< what it says, see parse_time; set by readers, not looked at by writers
  double weight = 1;              ///< Example::weight; readers leave out the label of an example of weight 0
  std::vector<RawText> texts;
  std::vector<Entry> entries;

  void clear() {
    id = task = label = time = {};
    seconds.reset();
    weight = 1;
    texts.clear();
    entries.clear();
    block_ = used_ = 0;
  }
  void add_index(Index index, double value) { add(Entry::Kind::kIndex, index, {}, value); }
  void add_name(std::string_view name, double value) { add(Entry::Kind::kName, 0, name, value); }
  void add_category(std::string_view name) {
    add_name(name, 1);
    entries.back().category = true;
  }
  /// Filled in place: copying an Entry built elsewhere stalls the processor.
  void add(Entry::Kind kind, Index index, std::string_view name, double value) {
    Entry& e = entries.emplace_back();
    e.kind = kind;
    e.index = index;
    e.name = name;
    e.value = value;
    e.category = false;
  }
  /// A copy of `text` that lives as long as the record's views.
  std::string_view keep(std::string_view text_to_keep) { return keep({}, {}, text_to_keep, nullptr); }
  /// A copy of `space`, `mark` and `name`, one after the other. Bytes up to `end` may be read, which is after both texts or
  /// null: a few bytes too many are copied faster than just enough.
  std::string_view keep(std::string_view space, std::string_view mark, std::string_view name, const char* end) {
    const std::size_t size = space.size() + mark.size() + name.size();
    if (kept_.empty() || kept_[block_].size() - used_ < size + kAtOnce) next_block(size + kAtOnce);
    char* const out = kept_[block_].data() + used_;
    char* at = copy(space, end, out);
    for (const char c : mark) *at++ = c;
    copy(name, end, at);
    used_ += size;
    return {out, size};
  }

 private:
  static constexpr std::size_t kAtOnce = 16;

  static char* copy(std::string_view text, const char* end, char* to) {
    if (text.size() <= kAtOnce && end - text.data() >= static_cast<std::ptrdiff_t>(kAtOnce))
      std::memcpy(to, text.data(), kAtOnce);
    else
      std::copy(text.begin(), text.end(), to);
    return to + text.size();
  }
  void next_block(std::size_t size) {
    for (used_ = 0; ++block_ < kept_.size();)
      if (kept_[block_].size() >= size) return;
    kept_.emplace_back(std::max<std::size_t>(size, kept_.empty() ? 1024 : 2 * kept_.back().size()));
    block_ = kept_.size() - 1;
  }

  std::vector<std::vector<char>> kept_;  // blocks, which stay where they are
  std::size_t block_ = 0, used_ = 0;     // the block that is being filled, and its bytes that are
};

/// Whether a feature may have this value: finite, and its square, too, with room for sums.
inline bool is_value(double value) { return std::abs(value) <= 1e18; }
inline constexpr std::string_view kValueRange = "a finite number from -1e18 to 1e18";

/// Whether `name` is a whole number as one writes it (no sign, no leading zero), up to kMaxIndex; then *index is that.
bool plain_number(std::string_view name, Index* index);

/// `value` in the fewest digits that read back as the same number.
std::string shortest(double value);

}  // namespace quorate
