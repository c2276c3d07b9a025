// Save and load walk the same list, so a field cannot be saved and not loaded.
//
// A type lists what is saved:       static void state(S& s, auto&& v) { v("w", s.w); v("tau", s.tau); }
// or has a smaller, checked form:   Packed pack() const;  void unpack(const Packed&);   where Packed has state().
#pragma once
#include <cstring>
#include <memory_resource>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/store/tensors.h"

namespace quorate {

template <class T>
concept HasState = requires(T& t) {
  T::state(t, [](auto&&...) {});
};
template <class T>
concept HasPacked = requires(const T& t, T& u) {
  u.unpack(t.pack());
};

/// Puts values into `out` under dotted names: `w.value`.
class Writer {
 public:
  explicit Writer(Tensors& out, std::string prefix = "") : out_(out), prefix_(std::move(prefix)) {}

  template <class T>
  void operator()(std::string_view name, const T& value) {
    const std::string full = prefix_ + std::string(name);
    if constexpr (TensorValue<T>)
      put(full, std::span(&value, 1));
    else if constexpr (HasPacked<T>)
      (*this)(name, value.pack());
    else if constexpr (HasState<T>)
      T::state(value, Writer(out_, full + "."));
    else
      put(full, std::span(value));
  }

 private:
  template <class T>
  void put(const std::string& name, std::span<T> values) {
    const auto bytes = std::as_bytes(values);
    out_.tensors[name] = {std::string(dtype<std::remove_const_t<T>>()), {bytes.begin(), bytes.end()}};
  }

  Tensors& out_;
  std::string prefix_;
};

/// Fills values from `in`. Throws DataError for a tensor that is missing, of another type or of another size.
class Reader {
 public:
  explicit Reader(const Tensors& in) : in_(in), used_(own_), prefix_("") {}

  template <class T>
  void operator()(std::string_view name, T& value) {
    const std::string full = prefix_ + std::string(name);
    if constexpr (TensorValue<T>) {
      std::pmr::vector<T> one;
      get(full, one);
      if (one.size() != 1)
        throw DataError("model file: tensor '" + full + "' has " + std::to_string(one.size()) + " values; expected 1");
      value = one[0];
    } else if constexpr (HasPacked<T>) {
      auto packed = value.pack();
      using Packed = decltype(packed);
      Packed::state(packed, Reader(in_, used_, full + "."));
      value.unpack(packed);
    } else if constexpr (HasState<T>) {
      T::state(value, Reader(in_, used_, full + "."));
    } else {
      get(full, value);
    }
  }

  bool has(std::string_view name) const { return in_.tensors.contains(prefix_ + std::string(name)); }

  /// The same file, names prefixed.
  Reader part(const std::string& prefix) { return Reader(in_, used_, prefix_ + prefix); }

  /// Throws DataError if the file holds a tensor nobody asked for.
  void finish() const {
    for (const auto& [name, tensor] : in_.tensors)
      if (!used_.contains(name)) throw DataError("model file: unknown tensor '" + name + "'");
  }

 private:
  Reader(const Tensors& in, std::set<std::string>& used, std::string prefix)
      : in_(in), used_(used), prefix_(std::move(prefix)) {}

  template <class T, class A>
  void get(const std::string& name, std::vector<T, A>& out) {
    const auto found = in_.tensors.find(name);
    if (found == in_.tensors.end()) throw DataError("model file: tensor '" + name + "' is missing");
    const Tensors::Tensor& t = found->second;
    if (t.dtype != dtype<T>())
      throw DataError("model file: tensor '" + name + "' is " + t.dtype + "; expected " + std::string(dtype<T>()));
    out.resize(t.bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), t.bytes.data(), t.bytes.size());
    used_.insert(name);
  }

  const Tensors& in_;
  std::set<std::string> own_;
  std::set<std::string>& used_;
  std::string prefix_;
};

}  // namespace quorate
