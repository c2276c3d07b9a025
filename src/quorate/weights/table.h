// A hash table from an integer key to one value, for everything that grows with the data.
#pragma once
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "quorate/base/prefetch.h"

namespace quorate {

/// Open addressing with linear probing, slot by slot or by groups of four. The number of slots is a power of two; at most
/// 3/4 are full; keys are never removed. Look-up O(1), insertion amortised O(1). The all-ones key is reserved.
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
  /// The value at `key`, or Value{} if the key is missing.
  Value get(Key key) const {
    if (kFourAtOnce) return slots_.empty() ? Value{} : slots_[slot_of(key)].value;  // a free slot holds Value{}
    const Value* value = find(key);
    return value == nullptr ? Value{} : *value;  // a branch, not cmov: speculation hides the miss
  }
  /// Prefetches the slot where `key` most likely is.
  void prefetch(Key key) const {
    if (!slots_.empty()) quorate::prefetch(&slots_[hash(key) & (slots_.size() - 1)]);
  }
  /// The value at `key`, made as Value{} if it is new. Valid until the next insertion.
  Value& at(Key key) {
    if (slots_.empty()) resize(slots_for(1));
    Slot* slot = &slots_[slot_of(key)];
    if (slot->key == key) return slot->value;
    if (!has_room(1)) {
      resize(slots_for(size_ + 1));
      slot = &slots_[slot_of(key)];
    }
    slot->key = key;
    ++size_;
    return slot->value;
  }
  /// Whether `more` new keys fit without growing.
  bool has_room(std::size_t more) const { return 4 * (size_ + more) <= 3 * slots_.size(); }
  /// Bytes that reserve(entries) allocates before it frees the old slots.
  std::size_t bytes_to_reserve(std::size_t entries) const {
    return entries > 0 && slots_for(entries) > slots_.size() ? slots_for(entries) * kSlotBytes : 0;
  }
  std::size_t slots() const { return slots_.size(); }
  /// Makes room for `entries` in all; 0 entries take no memory.
  void reserve(std::size_t entries) {
    if (entries > 0 && slots_for(entries) > slots_.size()) resize(slots_for(entries));
  }
  /// Gives an empty table exactly `slots` slots. Returns false if no table has that number of slots.
  bool reserve_slots(std::size_t slots) {
    if (slots != 0 && (slots < 4 || slots > std::size_t{1} << 33 || !std::has_single_bit(slots))) return false;
    if (slots > 0) resize(slots);
    return true;
  }
  /// The least number of slots of a table with `entries` entries.
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

  /// Slots of 8 bytes are compared four at a time without a branch, which would be unpredictable. This was slower for larger
  /// slots.
#ifdef __SSE2__
  static constexpr bool kFourAtOnce = sizeof(Key) == 4 && sizeof(Slot) == 8;
#else
  static constexpr bool kFourAtOnce = false;
#endif

  static std::size_t hash(Key key) {
    const std::uint64_t h = std::uint64_t{key} * 0x9E3779B97F4A7C15u;  // Fibonacci hashing; the high half mixes best
    return h ^ h >> 32;
  }
  /// The key's slot, or the free slot where it would be inserted.
  std::size_t slot_of(Key key) const {
    const std::size_t mask = slots_.size() - 1;
    std::size_t slot = hash(key) & mask;
#ifdef __SSE2__
    if constexpr (kFourAtOnce) {  // groups of four, each filled in order
      const auto pair = [](const Slot* at) {
        return _mm_castsi128_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
      };
      for (slot &= ~std::size_t{3};; slot = (slot + 4) & mask) {
        const __m128i keys = _mm_castps_si128(_mm_shuffle_ps(pair(&slots_[slot]), pair(&slots_[slot + 2]), 0x88));
        const __m128i good = _mm_or_si128(_mm_cmpeq_epi32(keys, _mm_set1_epi32(static_cast<int>(key))),
                                          _mm_cmpeq_epi32(keys, _mm_set1_epi32(static_cast<int>(kFree))));
        if (const int mine = _mm_movemask_ps(_mm_castsi128_ps(good)); mine != 0)
          return slot + static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(mine)));
      }
    }
#endif
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
