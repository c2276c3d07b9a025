#include "quorate/stream/featurize.h"

#include <utf8proc.h>

#include <algorithm>
#include <cmath>

#include "quorate/base/hash.h"

namespace quorate {
namespace {

bool is_letter(utf8proc_int32_t code) {
  switch (utf8proc_category(code)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
      return true;
    default:
      return false;
  }
}

/// use(word) for every run of at least two letters (of any script, marks included), lower-cased. `word` is scratch.
template <class F>
void for_each_word(std::string_view text, std::string& word, F use) {
  std::size_t letters = 0;
  const auto end = [&] {
    if (letters >= 2) use(word);
    word.clear();
    letters = 0;
  };
  word.clear();
  for (std::size_t at = 0; at < text.size();) {
    const auto c = static_cast<unsigned char>(text[at]);
    if (c < 0x80) {
      const bool upper = c >= 'A' && c <= 'Z';
      if (upper || (c >= 'a' && c <= 'z')) {
        word += static_cast<char>(upper ? c + ('a' - 'A') : c);
        ++letters;
      } else {
        end();
      }
      ++at;
      continue;
    }
    utf8proc_int32_t code = 0;
    const auto n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
                                    static_cast<utf8proc_ssize_t>(text.size() - at), &code);
    at += static_cast<std::size_t>(std::max<utf8proc_ssize_t>(n, 1));
    if (n > 0 && is_letter(code)) {
      utf8proc_uint8_t bytes[4];
      const auto size = utf8proc_encode_char(utf8proc_tolower(code), bytes);
      word.append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
      ++letters;
    } else {
      end();
    }
  }
  end();
}

}  // namespace

Featurizer::Featurizer(const FeatureSettings& settings, std::pmr::memory_resource* memory)
    : settings_(settings), columns_(memory), vocabulary_(memory) {
  if (settings.bits > 31) throw UsageError("bits " + std::to_string(settings.bits) + ": expected 0 (names kept) or 1 to 31");
}

void Featurizer::begin(const RecordReader& reader) {
  const auto header = reader.columns();
  if (columns_fixed_ == 0) {
    for (const std::string& name : header) columns_.intern(name);
    columns_fixed_ = 1;
  }
  column_place_.clear();
  for (const std::string& name : header) {
    const auto place = columns_.find(name);
    if (!place)
      throw DataError(reader.path() + ": column '" + name + "' was not in the data learned from" +
                      (columns_.size() == 0 ? " (which had no numeric columns)" : "") +
                      "; leave it out with --ignore-column " + name);
    column_place_.push_back(1 + *place);
  }
  for (std::uint32_t i = 0; i < columns_.size(); ++i)
    if (std::find(header.begin(), header.end(), columns_[i]) == header.end())
      throw DataError(reader.path() + ": no column '" + std::string(columns_[i]) +
                      "'; expected it, as in the data learned from");
}

Index Featurizer::place(std::string_view name, bool learn_names) {
  const auto first = static_cast<Index>(1 + columns_.size());
  if (settings_.bits > 0) return first + static_cast<Index>(hash64(name) & ((std::uint64_t{1} << settings_.bits) - 1));
  if (learn_names) return first + vocabulary_.intern(name);
  if (const auto known = vocabulary_.find(name)) return first + *known;
  return static_cast<Index>(first + vocabulary_.size() + (hash64(name) & 0x3FFFFFFF));  // no weight, but it counts in |x|
}

void Featurizer::add(Index place, double value) {
  if (value != 0) items_.push_back({place, static_cast<std::uint32_t>(items_.size()), value});
}

void Featurizer::add_words(std::string_view text, bool learn_names) {
  previous_.clear();
  for_each_word(text, word_, [&](const std::string& word) {
    add(place(name_.assign("text^").append(word), learn_names), 1);
    if (!settings_.bigrams) return;
    if (!previous_.empty()) add(place(name_.assign("text^").append(previous_).append(" ").append(word), learn_names), 1);
    previous_ = word;
  });
}

Features Featurizer::operator()(const Record& record, bool learn_names) {
  const auto less = [](const Item& a, const Item& b) { return std::pair(a.index, a.order) < std::pair(b.index, b.order); };
  items_.clear();
  if (record.has_text) {
    add_words(record.text, learn_names);
    if (settings_.binary) {
      std::sort(items_.begin(), items_.end(), less);
      const auto same = [](const Item& a, const Item& b) { return a.index == b.index; };
      items_.erase(std::unique(items_.begin(), items_.end(), same), items_.end());
    }
  }
  for (const Entry& e : record.entries) {
    switch (e.kind) {
      case Entry::Kind::kIndex:
        add(1 + e.index, e.value);
        break;
      case Entry::Kind::kColumn:
        add(column_place_[e.index], e.value);
        break;
      case Entry::Kind::kName:
        add(place(e.name, learn_names), e.value);
        break;
    }
  }
  if (!std::is_sorted(items_.begin(), items_.end(), less)) std::sort(items_.begin(), items_.end(), less);

  index_.clear();
  value_.clear();
  if (settings_.bias) {
    index_.push_back(0);
    value_.push_back(1);
  }
  for (const Item& item : items_) {
    if (!index_.empty() && index_.back() == item.index) {
      value_.back() += item.value;
    } else {
      index_.push_back(item.index);
      value_.push_back(item.value);
    }
  }
  double norm = 1;
  if (settings_.normalize) {
    const double sum = squared_norm({{}, value_});
    if (sum > 0) {
      norm = std::sqrt(sum);
      for (double& v : value_) v /= norm;
    }
  }
  // At least half full: a plain vector is smaller and faster.
  if (!index_.empty() && index_.back() < 2 * index_.size()) {
    const std::size_t extent = std::size_t{index_.back()} + 1, n = value_.size();
    value_.resize(extent, 0.0);
    for (std::size_t k = n; k-- > 0;) {
      const double v = value_[k];
      value_[k] = 0;
      value_[index_[k]] = v;
    }
    index_.clear();
  }
  return {index_, value_, norm};
}

void Featurizer::check() const {
  if (settings_.bits > 31 || columns_fixed_ > 1 || columns_.size() > kMaxIndex / 2)
    throw DataError("model file: feature settings out of range");
}

}  // namespace quorate
