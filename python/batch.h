// The examples of one call from Python, in the featurizer's form. Matrices are read where Python stores them, and texts and
// names are copied, so that the work itself does not need the interpreter's lock.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quorate/stream/featurize.h"

namespace quorate::python {

template <class T>
using Array = nanobind::ndarray<const T, nanobind::ndim<1>, nanobind::c_contig, nanobind::device::cpu>;
using Matrix = nanobind::ndarray<const double, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

class Batch {
 public:
  virtual ~Batch() = default;
  virtual std::size_t size() const = 0;
  /// The n-th instance. `learn`: new names get an index; then no other thread may use `featurizer`.
  virtual Features instance(std::size_t n, Featurizer& featurizer, bool learn, Featurizer::Scratch& scratch) const = 0;
  /// The names of the n-th instance's features, as Featurizer::names(); none if features have only an index.
  virtual std::vector<std::pair<Index, std::string>> names(std::size_t, const Featurizer&) const { return {}; }
  /// Call before the first instance: gives each column its index, or throws DataError.
  virtual void begin(Featurizer&, bool) {}
};

/// A SciPy CSR matrix with `columns` columns, not copied. Throws DataError for parts that do not fit, and for an index or a
/// value out of range.
std::unique_ptr<Batch> csr32(Array<std::int32_t> indptr, Array<std::int32_t> indices, Array<double> data,
                             std::int64_t columns);
std::unique_ptr<Batch> csr64(Array<std::int64_t> indptr, Array<std::int64_t> indices, Array<double> data,
                             std::int64_t columns);
/// A NumPy matrix, not copied.
std::unique_ptr<Batch> dense(Matrix values);
/// Dicts: a string or whole number names a feature; its value is a number, a bool, a word (the feature name=word), None or
/// NaN for a missing one (name=?), a list of words, or a dict, whose features are name.key. `texts`: a raw text for
/// each row, None if empty. Throws DataError.
std::unique_ptr<Batch> dicts(nanobind::sequence rows, std::optional<nanobind::sequence> texts = {});
/// Texts.
std::unique_ptr<Batch> texts(nanobind::sequence rows);
/// Columns of a table, each (name, "number", values), (name, "date", values), (name, "category", values) or (name, "text",
/// values): the numbers, or seconds since 1970, of a NumPy array; strings, or None. All columns have `rows` rows.
std::unique_ptr<Batch> table(nanobind::list columns, std::size_t rows);

/// Fills a record with the entries of a dict, without the key `skip`. The record has views into the dict, which must live
/// and not change while the record is used.
void fill(Record& record, nanobind::dict row, std::optional<std::string_view> skip = {});

}  // namespace quorate::python
