// One line of data as it was written: nothing hashed, scaled or mapped yet.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quorate/base/features.h"
#include "quorate/base/number.h"

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

  Entry() = default;
  Entry(Kind k, Index i, std::string_view n, double v, bool c = false) : kind(k), index(i), name(n), value(v), category(c) {}
};

/// Raw text and the column or key that holds it.
struct RawText {
  std::string_view name, text;
};

/// Text that stays where it is until clear().
class KeptText {
 public:
  static constexpr std::size_t kAtOnce = 16;

  KeptText() = default;
  KeptText(KeptText&& other) noexcept
      : blocks_(std::move(other.blocks_)), block_(other.block_), left_(std::exchange(other.left_, 0)), free_(other.free_) {}
  KeptText& operator=(KeptText&& other) noexcept {
    blocks_ = std::move(other.blocks_);
    block_ = other.block_;
    left_ = std::exchange(other.left_, 0);
    free_ = other.free_;
    return *this;
  }

  /// `size` bytes to be written. kAtOnce bytes after them may be written, too.
  char* place(std::size_t size) {
    if (left_ < size + kAtOnce) next_block(size + kAtOnce);
    char* const out = free_;
    free_ += size;
    left_ -= size;
    return out;
  }
  void clear() {
    block_ = 0;
    if (!blocks_.empty()) use_block();
  }

 private:
  void use_block() {
    free_ = blocks_[block_].data();
    left_ = blocks_[block_].size();
  }
  void next_block(std::size_t size) {
    do ++block_;
    while (block_ < blocks_.size() && blocks_[block_].size() < size);
    if (block_ >= blocks_.size()) {
      blocks_.emplace_back(std::max<std::size_t>(size, blocks_.empty() ? 1024 : 2 * blocks_.back().size()));
      block_ = blocks_.size() - 1;
    }
    use_block();
  }

  std::vector<std::vector<char>> blocks_;
  std::size_t block_ = 0, left_ = 0;  // that is being filled, and its bytes that are not
  char* free_ = nullptr;              // the first of these
};

/// Views live until the reader's next record. An empty id, task, label or time was not given.
struct Record {
  std::string_view id, task, label;
  std::string_view time;          ///< as written
  std::optional<double> seconds;  ///< what it says, see parse_time; set by readers, not looked at by writers
  double weight = 1;              ///< Example::weight; readers leave out the label of an example of weight 0
  std::vector<RawText> texts;
  std::vector<Entry> entries;
  std::vector<std::string_view> left_out;  ///< keys of JSON that the model does not know, the first kMostLeftOut
  static constexpr std::size_t kMostLeftOut = 10;

  /// The model knows nothing of it: it has none but such keys.
  bool unknown() const { return !left_out.empty() && entries.empty() && texts.empty(); }
  void clear() {
    id = task = label = time = {};
    seconds.reset();
    weight = 1;
    texts.clear();
    entries.clear();
    left_out.clear();
    kept_.clear();
  }
  void add_index(Index index, double value) { add(Entry::Kind::kIndex, index, {}, value); }
  void add_name(std::string_view name, double value) { add(Entry::Kind::kName, 0, name, value); }
  void add_category(std::string_view name) {
    add_name(name, 1);
    entries.back().category = true;
  }
  /// Made in place: copying an Entry built elsewhere stalls the processor.
  void add(Entry::Kind kind, Index index, std::string_view name, double value) {
    entries.emplace_back(kind, index, name, value);
  }

  /// A copy of `text` that lives as long as the record's views.
  std::string_view keep(std::string_view text) { return keep({}, {}, text); }
  /// Of the three, one after the other.
  std::string_view keep(std::string_view space, std::string_view mark, std::string_view name) {
    const std::size_t size = space.size() + mark.size() + name.size();
    char *const out = kept_.place(size), *at = out;
    for (const std::string_view part : {space, mark, name}) at = std::copy(part.begin(), part.end(), at);
    return {out, size};
  }
  /// Of the two. Bytes of either up to its end, which is after the text, may be read: a few bytes too many are copied faster
  /// than just enough.
  std::string_view keep(std::string_view prefix, const char* prefix_end, std::string_view name, const char* name_end) {
    const std::size_t size = prefix.size() + name.size();
    char* const out = kept_.place(size);
    copy(prefix, prefix_end, out);
    copy(name, name_end, out + prefix.size());
    return {out, size};
  }

 private:
  static void copy(std::string_view text, const char* end, char* to) {
    constexpr std::size_t kAtOnce = KeptText::kAtOnce;
    if (text.size() <= kAtOnce && end - text.data() >= static_cast<std::ptrdiff_t>(kAtOnce))
      std::memcpy(to, text.data(), kAtOnce);
    else
      std::copy(text.begin(), text.end(), to);
  }

  KeptText kept_;
};

/// Whether a feature may have this value: finite, and its square, too, with room for sums.
inline constexpr double kMostValue = 1e18;
inline bool is_value(double value) { return std::abs(value) <= kMostValue; }
inline constexpr std::string_view kValueRange = "a finite number from -1e18 to 1e18";

/// Whether `name` is a whole number as one writes it (no sign, no leading zero), up to kMaxIndex; then *index is that.
bool plain_number(std::string_view name, Index* index);

}  // namespace quorate
