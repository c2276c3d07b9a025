// Instances that are kept one after the other in flat arrays, with something that is said of each.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "quorate/base/column.h"
#include "quorate/base/error.h"
#include "quorate/base/example.h"
#include "quorate/base/memory.h"

namespace quorate {

/// Instances in the order in which they came. Extra is a note on each, a plain struct whose fields() are its saved
/// members and their names: static constexpr auto fields() { return std::tuple{std::pair{"y", &Extra::y}}; }
///
/// Memory: 12 bytes for each non-zero that is kept, and as much again for those popped from a queue that pops. Under a
/// memory limit all of it is taken when the first instance comes, and no more.
template <class Extra>
class InstanceQueue {
 public:
  struct Item : Extra {
    Task task = 0;
    std::uint32_t group = 0;
    double norm = 1, weight = 1;  ///< Features::norm, Example::weight
    std::size_t index_end = 0, value_end = 0;
  };
  static constexpr std::size_t kValueBytes = sizeof(Index) + sizeof(double);

  /// At most `most` instances with `most_values` values. `pops`: the oldest may be popped, which takes twice the memory.
  InstanceQueue(std::pmr::memory_resource* memory, std::size_t most, std::size_t most_values, bool pops)
      : items_(memory), index_(memory), value_(memory), most_(most), most_values_(most_values), copies_(pops ? 2 : 1) {}

  std::pmr::memory_resource* memory() const { return items_.get_allocator().resource(); }
  std::size_t size() const { return items_.size() - first_; }
  std::size_t values() const { return value_.size() - begin_of_value(first_); }
  bool fits(std::size_t values_more) const { return size() < most_ && values() + values_more <= most_values_; }
  bool could_fit(std::size_t values_more) const { return most_ > 0 && values_more <= most_values_; }
  Item& operator[](std::size_t place) { return items_[first_ + place]; }
  const Item& operator[](std::size_t place) const { return items_[first_ + place]; }
  /// Its instance, until the next change.
  Example example(std::size_t place) const {
    const std::size_t at = first_ + place, index = begin_of_index(at), value = begin_of_value(at);
    const Item& item = items_[at];
    return {item.task,
            {std::span<const Index>(index_).subspan(index, item.index_end - index),
             std::span<const double>(value_).subspan(value, item.value_end - value), item.norm},
            item.group,
            item.weight};
  }

  /// Under a limit takes all memory that will ever be needed. False if it is not free.
  bool take_memory() {
    if (items_.capacity() > 0 || !is_limited(memory())) return true;
    if (bytes_left(memory()) < bytes_under_limit()) return false;
    items_.reserve(copies_ * most_);
    index_.reserve(copies_ * most_values_);
    value_.reserve(copies_ * most_values_);
    return true;
  }
  /// After take_memory(); fits(e.x.size()).
  void push(const Example& e, const Extra& extra) {
    if (first_ >= most_ || begin_of_value(first_) >= std::max(most_values_ - e.x.size(), values())) forget_the_popped();
    index_.insert(index_.end(), e.x.index.begin(), e.x.index.end());
    value_.insert(value_.end(), e.x.value.begin(), e.x.value.end());
    items_.push_back({extra, e.task, e.group, e.x.norm, e.weight, index_.size(), value_.size()});
  }
  void pop() { ++first_; }
  /// The oldest becomes the newest; of a queue that pops. O(its values), amortised.
  void rotate() {
    const auto length = [this] { return items_[first_].value_end - begin_of_value(first_); };
    if (items_.size() >= copies_ * most_ || value_.size() + length() > copies_ * most_values_) forget_the_popped();
    Item item = items_[first_];
    append(index_, begin_of_index(first_), item.index_end);
    append(value_, begin_of_value(first_), item.value_end);
    item.index_end = index_.size();
    item.value_end = value_.size();
    items_.push_back(item);
    pop();
  }
  /// Removes those of which remove(item) is true; the others stay in order. Returns how many went. O(all values).
  template <class Remove>
  std::size_t erase_if(Remove remove) {
    std::size_t kept = 0, index = 0, value = 0, index_at = begin_of_index(first_), value_at = begin_of_value(first_);
    const std::size_t before = size();
    for (std::size_t place = first_; place < items_.size(); ++place) {
      Item item = items_[place];
      const std::size_t index_end = item.index_end, value_end = item.value_end;
      if (!remove(std::as_const(item))) {
        std::move(index_.begin() + offset(index_at), index_.begin() + offset(index_end), index_.begin() + offset(index));
        std::move(value_.begin() + offset(value_at), value_.begin() + offset(value_end), value_.begin() + offset(value));
        item.index_end = index += index_end - index_at;
        item.value_end = value += value_end - value_at;
        items_[kept++] = item;
      }
      index_at = index_end;
      value_at = value_end;
    }
    items_.resize(kept);
    index_.resize(index);
    value_.resize(value);
    first_ = 0;
    if (kept == 0 && is_limited(memory())) give_memory_back();  // as in a queue that is loaded
    return before - kept;
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
    Column<std::uint64_t> index_end, value_end;
    Column<Index> index;
    Column<double> value;
    decltype(columns_of(Extra::fields())) extra;
    template <class S>
    static void state(S& s, auto&& v) {
      v("task", s.task);
      v("group", s.group);
      v("norm", s.norm);
      visit_unless_empty(v, "weight", s.weight);
      v("index_end", s.index_end);
      v("value_end", s.value_end);
      v("index", s.index);
      v("value", s.value);
      each(Extra::fields(), s.extra, [&](const auto& field, auto& column) { v(field.first, column); });
    }
  };
  Packed pack() const {
    const std::size_t index = begin_of_index(first_), value = begin_of_value(first_);
    const auto column = [this]<class T>(Column<T>, auto get) {
      return Column<T>::of(size(), [this, get](std::size_t i) { return static_cast<T>(get((*this)[i])); });
    };
    Packed out;
    out.task = column(out.task, [](const Item& item) { return item.task; });
    out.group = column(out.group, [](const Item& item) { return item.group; });
    out.norm = column(out.norm, [](const Item& item) { return item.norm; });
    if (std::any_of(items_.begin() + offset(first_), items_.end(), [](const Item& item) { return item.weight != 1; }))
      out.weight = column(out.weight, [](const Item& item) { return item.weight; });
    out.index_end = column(out.index_end, [index](const Item& item) { return item.index_end - index; });
    out.value_end = column(out.value_end, [value](const Item& item) { return item.value_end - value; });
    out.index = Column<Index>::of(index_.size() - index, [this, index](std::size_t i) { return index_[index + i]; });
    out.value = Column<double>::of(values(), [this, value](std::size_t i) { return value_[value + i]; });
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
    bool same = (!weighed || p.weight.size() == n) && p.group.size() == n && p.norm.size() == n && p.index_end.size() == n &&
                p.value_end.size() == n;
    each(Extra::fields(), p.extra, [&](const auto&, const auto& column) { same = same && column.size() == n; });
    check(same, "lists differ in size");
    check(n <= most_ && p.value.size() <= most_values_ && p.index.size() <= most_values_, "more than there is room for");
    items_.clear();
    index_.clear();
    value_.clear();
    first_ = 0;
    if (n == 0) return check(p.value.empty() && p.index.empty(), "values that belong to nothing");
    if (!take_memory()) throw MemoryError(what + ": no memory for them");
    index_.resize(p.index.size());
    value_.resize(p.value.size());
    p.index.read(0, index_);
    p.value.read(0, value_);
    std::size_t index = 0, value = 0;
    for (std::size_t i = 0; i < n; ++i) {
      Item item;
      item.task = p.task[i];
      item.group = p.group[i];
      item.norm = p.norm[i];
      if (weighed) item.weight = p.weight[i];
      item.index_end = p.index_end[i];
      item.value_end = p.value_end[i];
      each(Extra::fields(), p.extra, [&](const auto& field, const auto& column) { item.*field.second = column[i]; });
      check(item.index_end >= index && item.index_end <= index_.size() && item.value_end >= value &&
                item.value_end <= value_.size() &&
                (item.index_end == index || item.index_end - index == item.value_end - value),
            "an end out of range");
      for (std::size_t k = index; k < item.index_end; ++k)
        check(index_[k] <= kMaxIndex + 1 && (k == index || index_[k] > index_[k - 1]), "features out of order");
      check(std::isfinite(item.norm) && is_weight(item.weight) && valid(std::as_const(item)), "an invalid value");
      items_.push_back(item);
      index = item.index_end;
      value = item.value_end;
    }
    check(index == index_.size() && value == value_.size(), "values that belong to nothing");
    check(std::all_of(value_.begin(), value_.end(), [](double v) { return std::isfinite(v); }), "a value is not finite");
  }

 private:
  template <class Fields, class Columns, class F>
  static void each(const Fields& fields, Columns& columns, F f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { (f(std::get<I>(fields), std::get<I>(columns)), ...); }
    (std::make_index_sequence<std::tuple_size_v<Fields>>());
  }
  static std::ptrdiff_t offset(std::size_t n) { return static_cast<std::ptrdiff_t>(n); }
  std::size_t begin_of_index(std::size_t at) const { return at == 0 ? 0 : items_[at - 1].index_end; }
  std::size_t begin_of_value(std::size_t at) const { return at == 0 ? 0 : items_[at - 1].value_end; }
  template <class T>
  static void append(std::pmr::vector<T>& to, std::size_t begin, std::size_t end) {
    const std::size_t size = to.size();
    to.resize(size + end - begin);
    std::copy_n(to.begin() + offset(begin), end - begin, to.begin() + offset(size));
  }
  std::size_t bytes_under_limit() const { return copies_ * (most_ * sizeof(Item) + most_values_ * kValueBytes); }
  void give_memory_back() {
    items_ = std::pmr::vector<Item>(memory());
    index_ = std::pmr::vector<Index>(memory());
    value_ = std::pmr::vector<double>(memory());
  }
  void forget_the_popped() {
    const std::size_t index = begin_of_index(first_), value = begin_of_value(first_);
    index_.erase(index_.begin(), index_.begin() + offset(index));
    value_.erase(value_.begin(), value_.begin() + offset(value));
    items_.erase(items_.begin(), items_.begin() + offset(first_));
    for (Item& item : items_) {
      item.index_end -= index;
      item.value_end -= value;
    }
    first_ = 0;
  }

  // What is kept begins at first_; what comes before was popped, and makes room once it is the larger part.
  std::pmr::vector<Item> items_;
  std::pmr::vector<Index> index_;
  std::pmr::vector<double> value_;
  std::size_t most_, most_values_, copies_, first_ = 0;
};

/// How many instances, and values, take at most `bytes` bytes: a quarter of them for the instances.
template <class Extra>
std::pair<std::size_t, std::size_t> room_for_instances(std::size_t bytes, std::size_t most_instances) {
  using Queue = InstanceQueue<Extra>;
  const std::size_t most = std::min(most_instances, bytes / 4 / sizeof(typename Queue::Item));
  return {most, (bytes - most * sizeof(typename Queue::Item)) / Queue::kValueBytes};
}

}  // namespace quorate
