// Instances in few bytes, one after the other, with something that is said of each.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/compact_instance.h"
#include "quorate/base/error.h"
#include "quorate/base/example.h"
#include "quorate/base/memory.h"
#include "quorate/base/ring_buffer.h"
#include "quorate/base/utf8.h"

namespace quorate {

/// Instances in the order in which they came; the oldest leave first. Extra is a note on each, a plain struct whose fields()
/// are its saved members and their names: static constexpr auto fields() { return std::tuple{std::pair{"y", &Extra::y}}; }
/// A member that is not in a file keeps its initial value.
///
/// Memory: sizeof(Item) and pack_instance()'s bytes for each, up to twice that while it grows. Under a memory limit all of
/// it is taken when the first instance comes, and no more.
///
/// Thread-safety: const members may be called by many threads while no other member is at work.
template <class Extra>
class InstanceRing {
 public:
  struct Item : Extra {
    Task task = 0;
    std::uint32_t group = 0, bytes = 0, text = 0;  ///< text: how many of `bytes`, the last, are text()
    double norm = 1, weight = 1;                   ///< Features::norm, Example::weight
    std::uint64_t begin = 0;                       ///< its first byte, of all that ever came
  };

  /// At most `most` instances with `most_bytes` bytes.
  InstanceRing(std::pmr::memory_resource* memory, std::size_t most, std::size_t most_bytes)
      : memory_(memory), items_(memory, most), bytes_(memory, most_bytes) {}
  /// A quarter of `bytes` is for notes, of `most` instances at most.
  static InstanceRing of_bytes(std::pmr::memory_resource* memory, std::size_t bytes, std::size_t most) {
    most = std::min(most, bytes / 4 / sizeof(Item));
    return InstanceRing(memory, most, bytes - most * sizeof(Item));
  }

  std::size_t size() const { return items_.size(); }
  std::size_t bytes() const { return bytes_.size(); }  ///< of the instances
  Item& operator[](std::size_t place) { return items_[place]; }
  const Item& operator[](std::size_t place) const { return items_[place]; }
  /// Its instance, until `to` changes.
  Example example(std::size_t place, UnpackedInstance& to) const {
    const Item& item = items_[place];
    thread_local std::vector<std::byte> whole;
    return {item.task, unpack_instance(packed(item, whole).first(item.bytes - item.text), item.norm, to), item.group,
            item.weight};
  }
  /// What push() was given.
  std::string text(std::size_t place) const {
    const Item& item = items_[place];
    std::vector<std::byte> whole;
    const auto text = packed(item, whole).last(item.text);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  /// Room for an instance that takes `bytes` bytes packed.
  bool fits(std::size_t bytes) const { return size() < items_.most() && bytes_.size() + bytes <= bytes_.most(); }
  bool could_fit(std::size_t bytes) const {
    return items_.most() > 0 && bytes <= bytes_.most() && bytes <= std::numeric_limits<std::uint32_t>::max();
  }
  /// Under a limit takes all memory that will ever be needed. False if it is not free.
  bool take_memory() {
    if (items_.capacity() > 0 || !is_limited(memory_)) return true;
    if (bytes_left(memory_) < items_.most() * sizeof(Item) + bytes_.most()) return false;
    items_.reserve_all();
    bytes_.reserve_all();
    return true;
  }
  /// `packed`: e.x by pack_instance(). `text` is kept with it. After take_memory(); fits(packed.size() + text.size()).
  void push(const Example& e, std::span<const std::byte> packed, const Extra& extra, std::string_view text = {}) {
    const std::size_t size = packed.size() + text.size();
    bytes_.push(packed);
    bytes_.push(std::as_bytes(std::span(text)));
    items_.push(Item{extra, e.task, e.group, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(text.size()),
                     e.x.norm, e.weight, gone_ + bytes_.size() - size});
  }
  /// The same, at a place among the others. O(all bytes).
  void insert(std::size_t place, const Example& e, std::span<const std::byte> packed, const Extra& extra) {
    push(e, packed, extra);
    const std::span<Item> later = items_.straighten().subspan(place);
    const std::span<std::byte> bytes = bytes_.straighten();
    const std::uint64_t begin = later.front().begin;  // of the one that was there, or its own
    std::rotate(bytes.begin() + static_cast<std::ptrdiff_t>(begin - gone_), bytes.end() - std::ssize(packed), bytes.end());
    std::rotate(later.begin(), later.end() - 1, later.end());
    later.front().begin = begin;
    for (Item& item : later.subspan(1)) item.begin += packed.size();
  }
  void pop() {
    const std::size_t bytes = items_[0].bytes;
    items_.pop(1);
    bytes_.pop(bytes);
    gone_ += bytes;
  }
  void pop_back() {
    bytes_.truncate(bytes_.size() - items_[size() - 1].bytes);
    items_.truncate(size() - 1);
    if (size() == 0 && is_limited(memory_)) give_memory_back();  // as in one that is loaded
  }
  /// Removes those of which remove(item) is true; the others stay in order. Returns how many went. O(all bytes).
  template <class Remove>
  std::size_t erase_if(Remove remove) {
    const std::span<Item> items = items_.straighten();
    const std::span<std::byte> bytes = bytes_.straighten();
    std::size_t kept = 0, end = 0;
    for (Item item : items) {
      if (remove(std::as_const(item))) continue;
      std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(item.begin - gone_), item.bytes,
                  bytes.begin() + static_cast<std::ptrdiff_t>(end));
      item.begin = end;
      end += item.bytes;
      items[kept++] = item;
    }
    const std::size_t erased = items.size() - kept;
    gone_ = 0;
    items_.truncate(kept);
    bytes_.truncate(end);
    if (kept == 0 && is_limited(memory_)) give_memory_back();  // as in one that is loaded
    return erased;
  }

 private:
  template <class T>
  static T type_of(T Extra::*);
  template <class... Fields>
  static auto columns_of(const std::tuple<Fields...>&)
      -> std::tuple<Column<decltype(type_of(std::declval<typename Fields::second_type>()))>...>;

 public:
  struct Packed {
    Column<std::uint32_t> task, group;
    Column<double> norm, weight;  // weight: empty if all are 1
    Column<std::uint64_t> end;    // of each, in `bytes`
    Column<char> bytes;
    Column<std::uint32_t> text;  // empty if all are 0
    decltype(columns_of(Extra::fields())) extra;
    template <class S>
    static void state(S& s, auto&& v) {
      v("task", s.task);
      v("group", s.group);
      v("norm", s.norm);
      visit_unless_empty(v, "weight", s.weight);
      v("end", s.end);
      v("bytes", s.bytes);
      visit_unless_empty(v, "text", s.text);
      each(Extra::fields(), s.extra, [&](const auto& field, auto& column) { v(field.first, column); });
    }
  };
  Packed pack() const {
    const auto column = [this]<class T>(Column<T>, auto get) {
      return Column<T>::of(size(), [this, get](std::size_t i) { return static_cast<T>(get((*this)[i])); });
    };
    const std::uint64_t gone = gone_;
    Packed out;
    out.task = column(out.task, [](const Item& item) { return item.task; });
    out.group = column(out.group, [](const Item& item) { return item.group; });
    out.norm = column(out.norm, [](const Item& item) { return item.norm; });
    bool weighed = false, texts = false;
    for (std::size_t i = 0; i < size(); ++i) {
      weighed |= (*this)[i].weight != 1;
      texts |= (*this)[i].text != 0;
    }
    if (texts) out.text = column(out.text, [](const Item& item) { return item.text; });
    if (weighed) out.weight = column(out.weight, [](const Item& item) { return item.weight; });
    out.end = column(out.end, [gone](const Item& item) { return item.begin + item.bytes - gone; });
    out.bytes = Column<char>(bytes_.size(), [this](std::size_t begin, std::span<char> to) {
      for (std::size_t done = 0; done < to.size();) {
        const auto piece = bytes_.piece(begin + done, to.size() - done);
        std::transform(piece.begin(), piece.end(), to.begin() + static_cast<std::ptrdiff_t>(done),
                       [](std::byte b) { return static_cast<char>(b); });
        done += piece.size();
      }
    });
    each(Extra::fields(), out.extra, [&](const auto& field, auto& of_extra) {
      of_extra = column(of_extra, [member = field.second](const Item& item) { return item.*member; });
    });
    return out;
  }
  void unpack(const Packed& p) {
    unpack(p, "kept instances", [](const Item&) { return true; });
  }
  /// `valid`: of an item. Throws DataError that begins with `what`: sizes differ, out of order, invalid values;
  /// MemoryError.
  template <class Valid>
  void unpack(const Packed& p, const std::string& what, Valid valid) {
    const auto check = [&](bool good, const char* why) {
      if (!good) throw DataError(what + ": " + why);
    };
    const std::size_t n = p.task.size();
    const bool weighed = !p.weight.empty();
    bool same = (!weighed || p.weight.size() == n) && (p.text.empty() || p.text.size() == n) && p.group.size() == n &&
                p.norm.size() == n && p.end.size() == n;
    each(Extra::fields(), p.extra, [&](const auto&, const auto& column) { same &= column.size() == n; });
    check(same, "lists differ in size");
    check(n <= items_.most() && p.bytes.size() <= bytes_.most(), "more than there is room for");
    std::vector<std::byte> packed;
    UnpackedInstance scratch;
    for (const bool fill : {false, true}) {
      if (fill) {
        items_.pop(items_.size());
        bytes_.pop(bytes_.size());
        gone_ = 0;
        if (n > 0 && !take_memory()) throw MemoryError(what + ": no memory for them");
      }
      std::uint64_t at = 0;
      for (std::size_t i = 0; i < n; ++i) {
        Item item;
        item.task = p.task[i];
        item.group = p.group[i];
        item.norm = p.norm[i];
        if (weighed) item.weight = p.weight[i];
        if (!p.text.empty()) item.text = p.text[i];
        each(Extra::fields(), p.extra, [&](const auto& field, const auto& column) { item.*field.second = column[i]; });
        const std::uint64_t end = p.end[i];
        check(end >= at && end <= p.bytes.size(), "an end out of range");
        packed.resize(end - at);
        p.bytes.read(at, {reinterpret_cast<char*>(packed.data()), packed.size()});
        const std::span<const std::byte> bytes = packed;
        at = end;
        check(item.text <= bytes.size(), "a text that is too long");
        const auto instance = bytes.first(bytes.size() - item.text);
        const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + instance.size(), item.text);
        if (!fill) {
          check(is_packed_instance(instance, item.norm, scratch), "an instance out of form");
          check(find_not_utf8(text) == text.npos, "a text that is not UTF-8");
          check(std::isfinite(item.norm) && is_weight(item.weight) && valid(std::as_const(item)), "an invalid value");
          continue;
        }
        while (!fits(bytes.size())) pop();
        push({item.task, {{}, {}, item.norm}, item.group, item.weight}, instance, item, text);
      }
      check(at == p.bytes.size(), "values that belong to nothing");
    }
  }

 private:
  template <class Fields, class Columns, class F>
  static void each(const Fields& fields, Columns& columns, F f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(std::get<I>(fields), std::get<I>(columns)), ...); }
    (std::make_index_sequence<std::tuple_size_v<Fields>>());
  }
  /// The bytes of an item, in one piece.
  std::span<const std::byte> packed(const Item& item, std::vector<std::byte>& whole) const {
    const auto begin = static_cast<std::size_t>(item.begin - gone_);
    const std::span<const std::byte> piece = bytes_.piece(begin, item.bytes);
    if (piece.size() == item.bytes) return piece;
    whole.assign(piece.begin(), piece.end());
    const std::span<const std::byte> rest = bytes_.piece(begin + piece.size(), item.bytes - piece.size());
    whole.insert(whole.end(), rest.begin(), rest.end());
    return whole;
  }
  void give_memory_back() {
    items_.give_memory_back();
    bytes_.give_memory_back();
  }

  std::pmr::memory_resource* memory_;
  RingBuffer<Item> items_;
  RingBuffer<std::byte> bytes_;
  std::uint64_t gone_ = 0;  // bytes that were popped
};

}  // namespace quorate
