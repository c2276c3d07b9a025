#include "quorate/base/nearest.h"

#include <algorithm>
#include <vector>

#include "quorate/base/error.h"

namespace quorate {
namespace {

/// Names longer than this are not compared letter by letter, which costs the product of their lengths.
constexpr std::size_t kLongest = 200;

constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);  // of the rows i - 2, i - 1, i
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(last);
    last.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + !same});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> names) {
  std::string_view out;
  for (const std::string_view name : names)
    if (word.size() >= 3 && name.starts_with(word) && (out.empty() || name.size() < out.size())) out = name;
  if (!out.empty() || word.size() > kLongest) return out;
  std::size_t most = (word.size() < 2 ? 0 : std::max<std::size_t>(word.size() / 3, 1)) + 1;  // nearer than that
  for (const std::string_view name : names) {
    if (std::max(name.size(), word.size()) - std::min(name.size(), word.size()) >= most) continue;
    if (const std::size_t distance = edit_distance(word, name); distance < most) {
      most = distance;
      out = name;
    }
  }
  return out;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names) {
  const std::string_view name = nearest(word, names);
  if (name.empty()) return "";
  const bool plain = name.find_first_of(" ?'\"") == name.npos;
  return " (did you mean " + (plain ? shown_value(name) : quoted_value(name)) + "?)";
}

}  // namespace quorate
