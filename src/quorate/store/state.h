// Saves and loads a type by one list of its fields, so that no field is saved and not loaded.
//
// A type lists its saved fields:    static void state(S& s, auto&& v) { v("w", s.w); v("tau", s.tau); }
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

/// When the columns of a state are read: at once, or when the file is written; until then the state must not change.
enum class ReadColumns { kNow, kWhenWritten };

/// Puts values into `out` under dotted names: `w.value`.
class Writer {
 public:
  explicit Writer(Tensors& out, ReadColumns read = ReadColumns::kNow, std::string prefix = "")
      : out_(out), read_(read), prefix_(std::move(prefix)) {}

  /// The same file, with `prefix` before the names.
  Writer part(const std::string& prefix) const { return Writer(out_, read_, prefix_ + prefix); }

  template <class T>
  void operator()(std::string_view name, const T& value) const {
    const std::string full = prefix_ + std::string(name);
    if constexpr (TensorValue<T>)
      put(full, std::vector<T>{value});
    else if constexpr (HasPacked<T>)
      (*this)(name, value.pack());
    else if constexpr (HasState<T>)
      T::state(value, Writer(out_, read_, full + "."));
    else
      put(full, value);
  }

 private:
  /// Reads of the bytes cover whole elements.
  template <class T>
  void put(const std::string& name, const Column<T>& values) const {
    if (read_ == ReadColumns::kNow) return put(name, values.list());
    out_.tensors[name] = {std::string(dtype<T>()),
                          {values.size() * sizeof(T), [values](std::size_t begin, auto out) {
                             values.read(begin / sizeof(T), {reinterpret_cast<T*>(out.data()), out.size() / sizeof(T)});
                           }}};
  }
  template <class List>
  void put(const std::string& name, const List& values) const {
    const auto bytes = std::as_bytes(std::span(values));
    out_.tensors[name] = {std::string(dtype<typename List::value_type>()), Column<std::byte>({bytes.begin(), bytes.end()})};
  }

  Tensors& out_;
  ReadColumns read_;
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
      using Packed = std::remove_cvref_t<decltype(value.pack())>;
      Packed packed;
      Packed::state(packed, Reader(in_, used_, full + "."));
      value.unpack(packed);
    } else if constexpr (HasState<T>) {
      T::state(value, Reader(in_, used_, full + "."));
    } else {
      get(full, value);
    }
  }

  bool has(std::string_view name) const { return in_.tensors.contains(prefix_ + std::string(name)); }

  /// The same file, with `prefix` before the names.
  Reader part(const std::string& prefix) { return Reader(in_, used_, prefix_ + prefix); }

  /// Throws DataError if the file has a tensor that was not read.
  void finish() const {
    for (const auto& [name, tensor] : in_.tensors)
      if (!used_.contains(name)) throw DataError("model file: unknown tensor '" + name + "'");
  }

 private:
  Reader(const Tensors& in, std::set<std::string>& used, std::string prefix)
      : in_(in), used_(used), prefix_(std::move(prefix)) {}

  template <class T>
  const Column<std::byte>& bytes_of(const std::string& name) {
    const auto found = in_.tensors.find(name);
    if (found == in_.tensors.end())
      throw DataError("model file: tensor '" + name + "' is missing (files made before 0.1.0 are not read)");
    if (found->second.dtype != dtype<T>())
      throw DataError("model file: tensor '" + name + "' is " + found->second.dtype + "; expected " +
                      std::string(dtype<T>()));
    used_.insert(name);
    return found->second.bytes;
  }
  template <class T, class A>
  void get(const std::string& name, std::vector<T, A>& out) {
    const auto& bytes = bytes_of<T>(name);
    out.resize(bytes.size() / sizeof(T));
    bytes.read(0, std::as_writable_bytes(std::span(out)));
  }
  template <class T>
  void get(const std::string& name, Column<T>& out) {
    const auto& bytes = bytes_of<T>(name);
    out = {bytes.size() / sizeof(T), [bytes](std::size_t begin, std::span<T> values) {
             bytes.read(begin * sizeof(T), std::as_writable_bytes(values));
           }};
  }

  const Tensors& in_;
  std::set<std::string> own_;
  std::set<std::string>& used_;
  std::string prefix_;
};

}  // namespace quorate
