// The examples of one call from Python, as the featurizer wants them. What Python owns is read where it lies (matrices) or
// copied (texts, names), so that the work itself needs no lock of the interpreter.
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
  /// The n-th instance. `learn`: names not seen before get their places; then `featurizer` is nobody else's.
  virtual Features instance(std::size_t n, Featurizer& featurizer, bool learn, Featurizer::Scratch& scratch) const = 0;
  /// The names of the n-th one's features, as Featurizer::names(); none where they have only places.
  virtual std::vector<std::pair<Index, std::string>> names(std::size_t, const Featurizer&) const { return {}; }
  /// To be called before the first instance: columns get their places, or it throws DataError.
  virtual void begin(Featurizer&, bool) {}
};

/// A SciPy CSR matrix of so many columns, not copied. Throws DataError: parts that do not fit, an index or a value out of
/// range.
std::unique_ptr<Batch> csr32(Array<std::int32_t> indptr, Array<std::int32_t> indices, Array<double> data,
                             std::int64_t columns);
std::unique_ptr<Batch> csr64(Array<std::int64_t> indptr, Array<std::int64_t> indices, Array<double> data,
                             std::int64_t columns);
/// A NumPy matrix, not copied.
std::unique_ptr<Batch> dense(Matrix values);
/// Dicts: a string or whole number names a feature; its value is a number, a bool, a word (the feature name=word), None or
/// NaN for a missing one (name=?), a list of words, or a dict, whose features are name.key. `texts`: of each row, too, or
/// None for an empty one. Throws DataError.
std::unique_ptr<Batch> dicts(nanobind::sequence rows, std::optional<nanobind::sequence> texts = {});
/// Texts.
std::unique_ptr<Batch> texts(nanobind::sequence rows);
/// Columns of a table, each (name, "number", values), (name, "date", values), (name, "category", values) or (name, "text",
/// values): the numbers, or seconds since 1970, of a NumPy array; strings, or None. All columns have as many rows.
std::unique_ptr<Batch> table(nanobind::list columns, std::size_t rows);

/// The record of one dict, with views into it, without the key `skip`. The dict must live, and nobody change it, while they
/// are used.
void fill(Record& record, nanobind::dict row, std::optional<std::string_view> skip = {});

}  // namespace quorate::python
