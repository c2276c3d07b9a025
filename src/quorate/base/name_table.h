// Numbers names, of tasks and of features, from 0.
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

/// A set of names, each with its place: 0, 1, 2, ... in order of first use. The texts are stored one after the other in
/// blocks, so a million names take a few thousand allocations; past 64 KiB nothing is moved or copied when a name is added.
/// Look-up O(length of the name). 24 bytes a name besides its text.
class NameTable {
 public:
  explicit NameTable(std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// The name's place; a new name gets the next one. O(length), amortised below 64 KiB. If memory is refused, nothing
  /// changed. Throws DataError for the 2^32nd name, and for a name of 4 GB.
  std::uint32_t intern(std::string_view name);
  /// Bytes that intern(name) may allocate, including those that it frees again.
  std::size_t bytes_to_add(std::string_view name) const;
  std::optional<std::uint32_t> find(std::string_view name) const;
  /// Prefetches the memory that find(name) reads: bucket, entry and text, for step 0, 1 and 2. Each holds the address of the
  /// next, so do other work between the steps. O(length).
  void prefetch(std::string_view name, int step) const;
  std::string_view operator[](std::uint32_t place) const;  ///< place < size(); valid until the next name is new
  std::size_t size() const { return entries_.size(); }

  /// Replaces the name at `place` by `name`, which must be new; the result is as if `name` had been interned there.
  /// Allocates memory only for a longer text; if it is refused, nothing changed. O(text of all names), copied outside of the
  /// table's memory.
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
  void unpack(const Packed& packed);  ///< throws DataError: ends that do not fit the text, a name twice

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
  std::size_t text_to_add(std::size_t size) const;  // capacity of the new block for a text of that size; 0: it fits

  std::pmr::vector<std::pmr::vector<char>> text_;  // names never cross from one block to the next
  SegmentedVector<Entry> entries_;
  SegmentedVector<std::uint32_t> first_;  // of each bucket: place + 1; one bucket per name (linear hashing)
};

}  // namespace quorate
