// Names and their places: task names, feature names.
#pragma once
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/error.h"
#include "quorate/base/segmented_vector.h"

namespace quorate {

/// A set of names, each with the place at which it first came: 0, 1, 2, ... Bytes of text lie one after the other, so
/// a million names cost a few thousand allocations; past 64 KiB nothing is moved or copied when one is added. Look-up
/// O(length of the name). 24 bytes a name besides its text.
class NameTable {
 public:
  explicit NameTable(std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// The name's place; it gets the next one if it is new. O(length), amortised while there are few. If memory is refused,
  /// nothing has changed. Throws DataError for the 2^32nd name, and for one of 4 GB.
  std::uint32_t intern(std::string_view name);
  /// Bytes that intern(name) may allocate, what it then frees included.
  std::size_t bytes_to_add(std::string_view name) const;
  std::optional<std::uint32_t> find(std::string_view name) const;
  /// Lets the processor fetch what find(name) will read. Of its three places each says where the next is: so to be called
  /// with step 0, 1 and 2, other work in between. O(length).
  void prefetch(std::string_view name, int step) const;
  std::string_view operator[](std::uint32_t place) const;  ///< place < size(); valid until the next name is new
  std::size_t size() const { return entries_.size(); }

  /// The name at `place` becomes `name`, which nobody has; the table is as if that had come there. Takes no memory but that
  /// of a longer text; if it is refused, nothing has changed. O(text of all names), copied outside of the table's memory.
  void rename(std::uint32_t place, std::string_view name);

  struct Packed {
    Column<char> text;
    Column<std::uint64_t> end;
    template <class S>
    static void state(S& s, auto&& v) {
      v("text", s.text);
      v("end", s.end);
    }
  };
  Packed pack() const;
  void unpack(const Packed& packed);  ///< throws DataError if the ends do not fit the text or a name comes twice

 private:
  static constexpr std::uint32_t kNone = 0;
  static constexpr std::size_t kTextBlock = 65536;
  struct Entry {
    std::uint32_t block = 0, begin = 0, size = 0;  // of its text
    std::uint32_t hash = 0;                        // low bits of hash64
    std::uint32_t next = kNone;                    // in its bucket: place + 1
  };

  std::uint32_t find(std::string_view name, std::uint32_t hash) const;  // place + 1, or kNone
  std::size_t bucket_of(std::uint32_t hash, std::size_t buckets) const;
  void add_bucket();
  bool first_block_grows(std::size_t size) const;
  void take_text(const NameTable& other);
  std::size_t text_to_add(std::size_t size) const;  // capacity of a block to make for a text that long; 0: it fits

  std::pmr::vector<std::pmr::vector<char>> text_;  // names never cross from one block to the next
  SegmentedVector<Entry> entries_;
  SegmentedVector<std::uint32_t> first_;  // of each bucket: place + 1; as many buckets as names (linear hashing)
};

}  // namespace quorate
