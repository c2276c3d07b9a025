#include "batch.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <type_traits>

#include "quorate/base/error.h"
#include "quorate/stream/schema.h"
#include "quorate/stream/time.h"

namespace nb = nanobind;

namespace quorate::python {
namespace {

[[noreturn]] void bad(std::size_t row, const std::string& what) {
  throw DataError("row " + std::to_string(row) + ", " + what);
}
/// "column 3: NaN; expected ..."
std::string not_a_value(const std::string& what, double value) {
  const std::string shown_value = std::isnan(value) ? "NaN" : std::isinf(value) ? "infinity" : shortest(value);
  return what + ": " + shown_value + "; expected " + std::string(kValueRange);
}

// By the bits without the sign, which are in the order of magnitudes, infinity and NaN at the end: the loop has no branch
// and only sums of whole numbers, so that compilers vectorize it.
bool all_in_range(const double* value, std::size_t size) {
  constexpr std::uint64_t kMagnitude = ~std::uint64_t{0} >> 1;
  const auto most = std::bit_cast<std::uint64_t>(kMostValue);
  std::uint64_t below = 0;  // its highest bit: whether a difference was negative
  for (std::size_t k = 0; k < size; ++k) below |= most - (std::bit_cast<std::uint64_t>(value[k]) & kMagnitude);
  return below >> 63 == 0;
}
/// Likewise: an index below 0, and the difference to one that is too large, have the highest bit.
template <class I>
bool all_places(const I* index, std::size_t size, std::int64_t columns) {
  using Bits = std::make_unsigned_t<I>;
  const auto last = static_cast<Bits>(std::min<std::int64_t>(columns, std::numeric_limits<I>::max()) - 1);
  Bits wrong = 0;
  for (std::size_t k = 0; k < size; ++k) wrong |= static_cast<Bits>(index[k]) | (last - static_cast<Bits>(index[k]));
  return wrong >> std::numeric_limits<I>::digits == 0;
}

template <class I>
class Csr final : public Batch {
 public:
  Csr(Array<I> indptr, Array<I> indices, Array<double> data, std::int64_t columns)
      : indptr_(std::move(indptr)), indices_(std::move(indices)), data_(std::move(data)) {
    const std::size_t filled = data_.shape(0);
    bool good = indptr_.shape(0) > 0 && indices_.shape(0) == filled && indptr_(0) == 0 &&
                static_cast<std::size_t>(indptr_(indptr_.shape(0) - 1)) == filled;
    for (std::size_t n = 1; n < indptr_.shape(0) && good; ++n) good = indptr_(n - 1) <= indptr_(n);
    if (!good) throw DataError("CSR matrix: indptr, indices and data do not fit");
    const std::int64_t limit = std::min<std::int64_t>(columns, kMaxIndex);
    if (all_in_range(data_.data(), filled) && all_places(indices_.data(), filled, limit)) return;
    for (std::size_t n = 0; n < size(); ++n)
      for (auto k = static_cast<std::size_t>(indptr_(n)); k < static_cast<std::size_t>(indptr_(n + 1)); ++k) {
        const std::string column = "column " + std::to_string(indices_(k));
        if (indices_(k) < 0 || indices_(k) >= limit)
          bad(n, column + ": expected an index from 0 to " + std::to_string(limit - 1));
        if (!is_value(data_(k))) bad(n, not_a_value(column, data_(k)));
      }
  }
  std::size_t size() const override { return indptr_.shape(0) - 1; }
  Features instance(std::size_t n, Featurizer& featurizer, bool, Featurizer::Scratch& scratch) const override {
    const auto begin = static_cast<std::size_t>(indptr_(n)), count = static_cast<std::size_t>(indptr_(n + 1)) - begin;
    return featurizer.row(std::span(indices_.data() + begin, count), std::span(data_.data() + begin, count), scratch);
  }

 private:
  Array<I> indptr_, indices_;
  Array<double> data_;
};

class Dense final : public Batch {
 public:
  explicit Dense(Matrix values) : values_(std::move(values)) {
    if (all_in_range(values_.data(), values_.size())) return;
    for (std::size_t n = 0; n < size(); ++n)
      for (std::size_t j = 0; j < values_.shape(1); ++j)
        if (!is_value(values_(n, j))) bad(n, not_a_value("column " + std::to_string(j), values_(n, j)));
  }
  std::size_t size() const override { return values_.shape(0); }
  Features instance(std::size_t n, Featurizer& featurizer, bool, Featurizer::Scratch& scratch) const override {
    return featurizer.row(std::span(values_.data() + n * values_.shape(1), values_.shape(1)), scratch);
  }

 private:
  Matrix values_;
};

/// Records that own their text.
class Records : public Batch {
 public:
  std::size_t size() const override { return end_.size(); }
  Features instance(std::size_t n, Featurizer& featurizer, bool learn, Featurizer::Scratch& scratch) const override {
    const Record& of = record(n);
    return learn ? featurizer(of) : std::as_const(featurizer)(of, columns_, scratch);
  }
  std::vector<std::pair<Index, std::string>> names(std::size_t n, const Featurizer& featurizer) const override {
    return featurizer.names(record(n), columns_);
  }

 protected:
  /// The n-th record, valid until this thread's next call.
  const Record& record(std::size_t n) const {
    thread_local Record record;
    record.clear();
    const std::size_t begin = n == 0 ? 0 : end_[n - 1];
    record.entries.assign(entries_.begin() + static_cast<std::ptrdiff_t>(begin),
                          entries_.begin() + static_cast<std::ptrdiff_t>(end_[n]));
    const std::size_t texts = text_names_.size();
    for (std::size_t t = 0; t < texts; ++t) record.texts.push_back({text_names_[t], text_[n * texts + t]});
    return record;
  }
  std::string_view kept(std::string_view text) {
    char* copy = std::pmr::polymorphic_allocator<char>(&arena_).allocate(text.size() + 1);
    std::copy(text.begin(), text.end(), copy);
    return {copy, text.size()};
  }
  void end_record() { end_.push_back(entries_.size()); }

  std::vector<Entry> entries_;
  std::vector<std::string> text_names_;  // columns of raw text
  std::vector<std::string_view> text_;   // of each record, one for each column of raw text
  std::vector<std::size_t> end_;         // of a record's entries
  std::vector<Index> columns_;           // feature indices, set by begin()

 private:
  std::pmr::monotonic_buffer_resource arena_;
};

/// The UTF-8 of a Python string, valid while the string lives.
std::string_view utf8(nb::handle text) {
  Py_ssize_t size = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (bytes == nullptr) throw nb::python_error();  // a lone surrogate
  return {bytes, static_cast<std::size_t>(size)};
}

std::string type_of(nb::handle h) {
  return nb::cast<std::string>(nb::steal<nb::str>(PyObject_Str(h.type().attr("__name__").ptr())));
}

/// Calls use(entry) for each feature of a dict except `skip`; `keep` copies a name that is composed here. `space`: prefix
/// of the names, for a dict inside another one.
template <class Keep, class Use>
void for_each_entry(nb::handle row, std::optional<std::string_view> skip, const std::string& space, Keep keep, Use use) {
  PyObject *key = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(row.ptr(), &at, &key, &value);) {
    Entry e{Entry::Kind::kName, 0, {}, 1};
    if (PyUnicode_Check(key)) {
      e.name = utf8(key);
      if (skip && *skip == e.name) continue;
    } else if (PyIndex_Check(key)) {
      e.kind = Entry::Kind::kIndex;
      const nb::object number = nb::steal(PyNumber_Index(key));
      const long long index = number.is_valid() ? PyLong_AsLongLong(number.ptr()) : -1;
      if (PyErr_Occurred() || index < 0 || index > kMaxIndex - 1) {
        PyErr_Clear();
        throw DataError("feature " + nb::cast<std::string>(nb::str(nb::handle(key))) +
                        ": expected a name, or a whole number from 0 to " + std::to_string(kMaxIndex - 1));
      }
      e.index = static_cast<Index>(index);
    } else {
      throw DataError("feature " + quoted_value(nb::cast<std::string>(nb::str(nb::handle(key)))) +
                      ": expected a name or a whole number, not " + type_of(key));
    }
    if (!space.empty()) {
      e.name = keep(space + (e.kind == Entry::Kind::kIndex ? std::to_string(e.index) : std::string(e.name)));
      e.kind = Entry::Kind::kName;
    }
    const auto name = [&] { return e.kind == Entry::Kind::kIndex ? std::to_string(e.index) : std::string(e.name); };
    const auto use_word = [&](std::string_view word) {
      Entry category{Entry::Kind::kName, 0, keep(name() + "=" + std::string(word)), 1, true};
      use(category);
    };
    if (value == Py_None) {
      use_word("?");
    } else if (PyUnicode_Check(value)) {
      use_word(utf8(value));
    } else if (PyDict_Check(value)) {
      if (Py_EnterRecursiveCall(" in a dict of features") != 0) throw nb::python_error();
      try {
        for_each_entry(value, {}, name() + ".", keep, use);
      } catch (...) {
        Py_LeaveRecursiveCall();
        throw;
      }
      Py_LeaveRecursiveCall();
    } else if (PyList_Check(value) || PyTuple_Check(value)) {
      std::set<std::string_view> words;
      for (nb::handle word : nb::borrow<nb::sequence>(value)) {
        if (word.is_none()) continue;
        if (!PyUnicode_Check(word.ptr()))
          throw DataError("feature " + quoted_value(name()) + ": expected a list of words, not of " + type_of(word));
        words.insert(utf8(word));
      }
      for (const std::string_view word : words) use_word(word);
    } else {
      e.value = PyFloat_AsDouble(value);
      if (e.value == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        throw DataError("feature " + quoted_value(name()) + ": expected a number or a word, not " + type_of(value));
      }
      if (std::isnan(e.value)) {
        use_word("?");
        continue;
      }
      if (!is_value(e.value)) throw DataError(not_a_value("feature " + quoted_value(name()), e.value));
      if (e.kind == Entry::Kind::kName && plain_number(e.name, &e.index)) e.kind = Entry::Kind::kIndex;
      use(e);
    }
  }
}

class Dicts final : public Records {
 public:
  Dicts(const nb::sequence& rows, const std::optional<nb::sequence>& texts) {
    if (texts) {
      text_names_ = {"text"};
      for (nb::handle text : *texts) {
        if (!text.is_none() && !PyUnicode_Check(text.ptr())) bad(text_.size(), "expected a text, not " + type_of(text));
        text_.push_back(text.is_none() ? std::string_view() : kept(utf8(text)));
      }
    }
    for (nb::handle row : rows) {
      if (!PyDict_Check(row.ptr())) bad(size(), "expected a dict, not " + type_of(row));
      try {
        for_each_entry(
            row, {}, {}, [&](const std::string& name) { return kept(name); },
            [&](Entry e) {
              e.name = kept(e.name);
              entries_.push_back(e);
            });
      } catch (const DataError& e) {
        bad(size(), e.what());
      }
      end_record();
    }
  }
};

class Texts final : public Records {
 public:
  explicit Texts(nb::sequence rows) {
    text_names_ = {"text"};
    for (nb::handle row : rows) {
      if (!PyUnicode_Check(row.ptr())) bad(size(), "expected a text, not " + type_of(row));
      text_.push_back(kept(utf8(row)));
      end_record();
    }
  }
};

class Table final : public Records {
 public:
  Table(const nb::list& columns, std::size_t rows) {
    struct Column {
      std::string name;
      std::optional<Array<double>> numbers;  // or times in seconds
      nb::list words;
      bool text = false, time = false;
    };
    std::vector<Column> all;
    for (nb::handle h : columns) {
      const auto [name, kind, values] = nb::cast<std::tuple<std::string, std::string, nb::object>>(h);
      Column& c = all.emplace_back();
      c.name = name;
      if (kind == "number" || kind == "date") {
        c.numbers = nb::cast<Array<double>>(values);
        c.time = kind == "date";
        if (!c.time) names_.push_back(name);
      } else {
        c.words = nb::cast<nb::list>(values);
        c.text = kind == "text";
        if (c.text) text_names_.push_back(name);
      }
    }
    for (const Column& c : all)
      if ((c.numbers ? c.numbers->shape(0) : c.words.size()) != rows)
        throw DataError("column " + quoted_value(c.name) + ": expected " + std::to_string(rows) + " rows");
    for (std::size_t n = 0; n < rows; ++n) {
      Index number = 0;
      for (const Column& c : all) {
        if (c.numbers) {
          const double value = (*c.numbers)(n);
          if (c.time) {
            if (!std::isnan(value)) add_time_parts(c.name, value);
            continue;
          }
          if (std::isnan(value)) {
            ++number;
            entries_.push_back({Entry::Kind::kName, 0, kept(c.name + "=?"), 1, true});
            continue;
          }
          if (!is_value(value)) bad(n, not_a_value("column " + quoted_value(c.name), value));
          entries_.push_back({Entry::Kind::kColumn, number, names_[number], value});
          ++number;
          continue;
        }
        const nb::handle value = c.words[n];
        if (c.text && value.is_none()) text_.emplace_back();
        if (c.text && value.is_none()) continue;
        if (value.is_none()) {
          entries_.push_back({Entry::Kind::kName, 0, kept(c.name + "=?"), 1, true});
          continue;
        }
        if (!PyUnicode_Check(value.ptr()))
          bad(n, "column " + quoted_value(c.name) + ": expected a word, not " + type_of(value));
        const std::string_view word = utf8(value);
        if (c.text)
          text_.push_back(kept(word));
        else
          entries_.push_back(
              {Entry::Kind::kName, 0, kept(c.name + "=" + (is_missing(word) ? "?" : std::string(word))), 1, true});
      }
      end_record();
    }
  }
  void begin(Featurizer& featurizer, bool learn) override {
    if (learn) featurizer.begin(names_, "table");
    columns_ = std::as_const(featurizer).columns(names_, "table");
  }

 private:
  void add_time_parts(const std::string& column, double seconds) {
    const TimeParts parts = time_parts(seconds);
    for (const std::string& word : {column + ".hour=" + parts.hour, column + ".weekday=" + std::string(parts.weekday)})
      entries_.push_back({Entry::Kind::kName, 0, kept(word), 1, true});
  }

  std::vector<std::string> names_;
};

}  // namespace

std::unique_ptr<Batch> csr32(Array<std::int32_t> indptr, Array<std::int32_t> indices, Array<double> data,
                             std::int64_t columns) {
  return std::make_unique<Csr<std::int32_t>>(std::move(indptr), std::move(indices), std::move(data), columns);
}
std::unique_ptr<Batch> csr64(Array<std::int64_t> indptr, Array<std::int64_t> indices, Array<double> data,
                             std::int64_t columns) {
  return std::make_unique<Csr<std::int64_t>>(std::move(indptr), std::move(indices), std::move(data), columns);
}
std::unique_ptr<Batch> dense(Matrix values) { return std::make_unique<Dense>(std::move(values)); }
std::unique_ptr<Batch> dicts(nb::sequence rows, std::optional<nb::sequence> texts) {
  return std::make_unique<Dicts>(rows, texts);
}
std::unique_ptr<Batch> texts(nb::sequence rows) { return std::make_unique<Texts>(std::move(rows)); }
std::unique_ptr<Batch> table(nb::list columns, std::size_t rows) { return std::make_unique<Table>(columns, rows); }

void fill(Record& record, nb::dict row, std::optional<std::string_view> skip) {
  record.clear();
  for_each_entry(
      row, skip, {}, [&](const std::string& name) { return record.keep(name); },
      [&](const Entry& e) { record.entries.push_back(e); });
}

}  // namespace quorate::python
