// A hash table from an integer key to one number: what grows with the data lies in one of these.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <utility>
#include <vector>

#include "quorate/base/prefetch.h"

namespace quorate {

/// Open addressing with linear probing, a power of two of slots, at most 3/4 full; nothing is ever removed. Look-up O(1),
/// insertion amortised O(1). The all-ones key is reserved.
template <class Key, class Value>
class Table {
 public:
  explicit Table(std::pmr::memory_resource* memory) : slots_(memory) {}

  static constexpr std::size_t kSlotBytes = sizeof(std::pair<Key, Value>);

  std::size_t size() const { return size_; }
  std::pmr::memory_resource* memory() const { return slots_.get_allocator().resource(); }

  /// The value at `key`, or nullptr. Valid until the next insertion.
  const Value* find(Key key) const {
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[slot_of(key)];
    return slot.key == key ? &slot.value : nullptr;
  }
  /// Asks the processor for where `key` most likely is.
  void prefetch(Key key) const {
    if (!slots_.empty()) quorate::prefetch(&slots_[hash(key) & (slots_.size() - 1)]);
  }
  /// The value at `key`, made as Value{} if it is new. Valid until the next insertion.
  Value& at(Key key) {
    if (!has_room(1)) resize(slots_for(size_ + 1));
    Slot& slot = slots_[slot_of(key)];
    if (slot.key != key) {
      slot.key = key;
      ++size_;
    }
    return slot.value;
  }
  /// Whether `more` new keys fit without growing.
  bool has_room(std::size_t more) const { return 4 * (size_ + more) <= 3 * slots_.size(); }
  /// Room for `entries` in all.
  void reserve(std::size_t entries) {
    if (slots_for(entries) > slots_.size()) resize(slots_for(entries));
  }
  /// Slots that a table of so many entries has at least.
  static std::size_t slots_for(std::size_t entries) {
    std::size_t slots = 4;
    while (4 * entries > 3 * slots) slots *= 2;
    return slots;
  }
  /// f(key, value) for every entry, in no useful order.
  template <class F>
  void for_each(F f) const {
    for (const Slot& slot : slots_)
      if (slot.key != kFree) f(slot.key, slot.value);
  }

 private:
  static constexpr Key kFree = std::numeric_limits<Key>::max();
  struct Slot {
    Key key = kFree;
    Value value{};
  };

  static std::size_t hash(Key key) {
    const std::uint64_t h = std::uint64_t{key} * 0x9E3779B97F4A7C15u;  // Fibonacci hashing; the high half mixes best
    return h ^ h >> 32;
  }
  std::size_t slot_of(Key key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash(key) & mask;
    while (slots_[slot].key != key && slots_[slot].key != kFree) slot = (slot + 1) & mask;
    return slot;
  }
  void resize(std::size_t slots) {
    std::pmr::vector<Slot> old(slots, slots_.get_allocator());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != kFree) slots_[slot_of(slot.key)] = slot;
  }

  std::pmr::vector<Slot> slots_;
  std::size_t size_ = 0;
};

}  // namespace quorate
