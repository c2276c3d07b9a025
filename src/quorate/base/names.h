// Names and their places: task names, feature names.
#pragma once
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <vector>

#include "quorate/base/error.h"

namespace quorate {

/// A set of names, each with the place at which it first came: 0, 1, 2, ... Bytes of text lie one after the other, so
/// a million names cost a few allocations. Look-up O(length of the name).
class Names {
 public:
  explicit Names(std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  /// The name's place; it gets the next one if it is new. Amortised O(length).
  std::uint32_t intern(std::string_view name);
  /// Bytes that intern(name) may allocate, what it then frees included.
  std::size_t bytes_to_add(std::string_view name) const;
  std::optional<std::uint32_t> find(std::string_view name) const;
  std::string_view operator[](std::uint32_t place) const;  ///< place < size()
  std::size_t size() const { return end_.size(); }

  struct Packed {
    std::pmr::vector<char> text;
    std::pmr::vector<std::uint64_t> end;
    template <class S>
    static void state(S& s, auto&& v) {
      v("text", s.text);
      v("end", s.end);
    }
  };
  Packed pack() const { return {text_, end_}; }
  void unpack(const Packed& packed);  ///< throws DataError if the ends do not fit the text or a name comes twice

 private:
  std::size_t slot_of(std::string_view name) const;  ///< the name's slot, or the free one where it belongs
  void grow();

  std::pmr::vector<char> text_;           // all names, one after the other
  std::pmr::vector<std::uint64_t> end_;   // end_[i]: where name i ends in text_
  std::pmr::vector<std::uint32_t> slot_;  // open addressing: place + 1, 0 = free; a power of two, at most half full
};

}  // namespace quorate
