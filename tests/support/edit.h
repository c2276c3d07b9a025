// Changes to columns, for tests of what a reader must refuse.
#pragma once
#include <vector>

#include "quorate/base/column.h"

namespace quorate::test {

/// The elements of a column, written back at the end of the expression: edit(column)->pop_back().
template <class T>
class edit {
 public:
  explicit edit(Column<T>& column) : column_(column), list_(column.list()) {}
  ~edit() { column_ = Column<T>(std::move(list_)); }
  edit(const edit&) = delete;
  std::vector<T>* operator->() { return &list_; }
  std::vector<T>& operator*() { return list_; }

 private:
  Column<T>& column_;
  std::vector<T> list_;
};

/// Columns that no longer depend on the state that they were packed from.
template <class Packed>
Packed held(Packed packed) {
  Packed::state(packed, [](auto&&, auto& value) {
    if constexpr (requires { value.list(); }) value = std::remove_cvref_t<decltype(value)>(value.list());
  });
  return packed;
}

}  // namespace quorate::test
