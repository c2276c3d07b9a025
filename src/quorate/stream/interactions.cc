#include "quorate/stream/interactions.h"

#include "quorate/base/error.h"
#include "quorate/params/params.h"

namespace quorate {
namespace {

bool is_kind(std::string_view side) {
  return side == word_of(ColumnKind::kNumber) || side == word_of(ColumnKind::kCategory) ||
         side == word_of(ColumnKind::kText);
}

}  // namespace

void Interactions::Parts::add(std::string_view name, std::size_t column, ColumnKind kind, double value) {
  if (value == 0) return;
  if (used_ == parts_.size()) parts_.emplace_back();
  Part& part = parts_[used_++];
  part.name.assign(name);
  part.column = column;
  part.kind = kind;
  part.value = value;
}

Interactions::Interactions(const std::vector<std::string>& pairs) {
  for (const std::string& text : pairs) {
    const std::size_t star = text.find('*');
    if (star == text.npos || star == 0 || star + 1 == text.size() || text.find('*', star + 1) != text.npos)
      throw UsageError(
          "interactions " + quoted_value(text) +
          ": expected two columns, namespaces or kinds (number, category, text) with * between them, as user*channel");
    pairs_.emplace_back(text.substr(0, star), text.substr(star + 1));
  }
}

void Interactions::check(const Schema& schema) const {
  if (!schema.has_columns()) return;
  for (const auto& [left, right] : pairs_)
    for (const std::string& side : {left, right}) {
      const auto kind = schema.find(side);
      if (is_kind(side) || (kind && is_feature(*kind))) continue;
      std::vector<std::string_view> names;
      for (std::size_t i = 0; i < schema.size(); ++i)
        if (is_feature(schema.kind(i))) names.push_back(schema.name(i));
      throw UsageError("interactions " + left + "*" + right + ": " +
                       (kind ? quoted_value(side) + " holds the " + std::string(word_of(*kind)) + " and is no feature"
                             : "no column " + quoted_value(side)) +
                       "; expected number, category, text or one of " + joined(names));
    }
}

std::string Interactions::unmet(const std::vector<bool>& met) const {
  std::string out;
  for (std::size_t n = 0; n < pairs_.size(); ++n)
    if (n >= met.size() || !met[n])
      out += (out.empty() ? "--interactions " : ", ") + pairs_[n].first + "*" + pairs_[n].second;
  return out.empty() ? "" : out + ": no line has features of both";
}

bool Interactions::is_in(const std::string& side, const Part& part) {
  return std::string_view(part.name).substr(0, part.column) == side || word_of(part.kind) == side;
}

}  // namespace quorate
