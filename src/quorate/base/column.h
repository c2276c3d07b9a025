// A list of numbers that is saved and loaded part by part, without a copy of the whole.
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace quorate {

/// size() elements that a function produces when they are read: from a learner's state, from a file, or from a list of its
/// own. Elements should be read in order: a window of them is produced at a time. Copies share the source, which has to stay
/// as it is unless the column owns it.
///
/// Thread-safety: one thread at a time.
template <class T>
class Column {
 public:
  /// Fills `out` with the elements that begin at `begin`.
  using Fill = std::function<void(std::size_t begin, std::span<T> out)>;

  Column() = default;
  Column(std::size_t size, Fill fill) : size_(size), fill_(std::move(fill)) {}
  /// One that owns a copy of the list.
  Column(std::vector<T> list) : size_(list.size()) {
    fill_ = [owned = std::make_shared<const std::vector<T>>(std::move(list))](std::size_t begin, std::span<T> out) {
      std::copy_n(owned->data() + begin, out.size(), out.data());
    };
  }
  Column(std::initializer_list<T> list) : Column(std::vector<T>(list)) {}
  /// One of n elements at(i).
  template <class At>
  static Column of(std::size_t n, At at) {
    return Column(n, [at](std::size_t begin, std::span<T> out) {
      for (std::size_t k = 0; k < out.size(); ++k) out[k] = at(begin + k);
    });
  }

  /// One of lists one after the other, list i ending before element ends[i]. part(i, begin, n): n elements of list i from
  /// `begin` on, a span that is valid until the next call.
  template <class Part>
  static Column joined(std::shared_ptr<const std::vector<std::size_t>> ends, Part part) {
    const std::size_t size = ends->empty() ? 0 : ends->back();
    return Column(size, [ends = std::move(ends), part](std::size_t begin, std::span<T> out) {
      auto i = static_cast<std::size_t>(std::upper_bound(ends->begin(), ends->end(), begin) - ends->begin());
      for (std::size_t done = 0; done < out.size(); ++i) {
        const std::size_t n = std::min((*ends)[i] - begin - done, out.size() - done);
        if (n == 0) continue;
        const std::span<const T> list = part(i, begin + done - (i == 0 ? 0 : (*ends)[i - 1]), n);
        std::copy_n(list.data(), n, out.data() + done);
        done += n;
      }
    });
  }
  /// Elements begin to begin + size - 1 of this one.
  Column part(std::size_t begin, std::size_t size) const {
    return Column(size, [fill = fill_, begin](std::size_t at, std::span<T> out) { fill(begin + at, out); });
  }

  template <class Part>
  static Column joined(std::vector<std::size_t> ends, Part part) {
    return joined(std::make_shared<const std::vector<std::size_t>>(std::move(ends)), part);
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  /// Amortised O(1) in ascending order, else O(window).
  T operator[](std::size_t i) const {
    if (i - begin_ >= window_.size()) {  // unsigned: also below begin_
      begin_ = i;
      window_.resize(std::min(kWindow, size_ - i));
      fill_(i, window_);
    }
    return window_[i - begin_];
  }
  void read(std::size_t begin, std::span<T> out) const {
    if (!out.empty()) fill_(begin, out);
  }
  /// All elements, copied.
  std::vector<T> list() const {
    std::vector<T> out(size_);
    read(0, out);
    return out;
  }
  bool operator==(const Column& other) const { return size_ == other.size_ && list() == other.list(); }

 private:
  static constexpr std::size_t kWindow = 8192;

  std::size_t size_ = 0;
  Fill fill_;
  mutable std::size_t begin_ = 0;
  mutable std::vector<T> window_;
};

/// Visits a list that files have only if it is not empty.
template <class Visit, class List>
void visit_unless_empty(Visit& visit, const char* name, List& list) {
  if constexpr (requires { visit.has(name); }) {
    if (visit.has(name)) visit(name, list);
  } else if (!list.empty()) {
    visit(name, list);
  }
}

}  // namespace quorate
