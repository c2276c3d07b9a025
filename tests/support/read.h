// Records of a file as plain values, for tests that compare them.
#pragma once
#include <algorithm>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "quorate/base/error.h"
#include "quorate/stream/formats.h"

namespace quorate::test {

/// One record, owned. Features by name (of a plain index: its digits), in their order.
struct Row {
  std::string id, task, label, text;
  bool has_text = false;
  std::vector<std::pair<std::string, double>> features;
  std::string time = "";
  double weight = 1;

  bool operator==(const Row&) const = default;
};
inline void PrintTo(const Row& r, std::ostream* os) {
  *os << "id '" << r.id << "' task '" << r.task << "' label '" << r.label << "'";
  if (!r.time.empty()) *os << " time '" << r.time << "'";
  if (r.weight != 1) *os << " weight " << r.weight;
  if (r.has_text) *os << " text '" << r.text << "'";
  for (const auto& [name, value] : r.features) *os << " '" << name << "':" << value;
}

inline Row row_of(const Record& r) {
  Row out{std::string(r.id),    std::string(r.task),
          std::string(r.label), r.texts.empty() ? "" : std::string(r.texts[0].text),
          !r.texts.empty(),     {},
          std::string(r.time),  r.weight};
  for (const Entry& e : r.entries) out.features.emplace_back(entry_name(e), e.value);
  return out;
}

inline std::vector<Row> read_rows(const std::string& path, const ReadOptions& options = {}) {
  std::vector<Row> out;
  const auto reader = open_reader(path, options);
  for (Record r; reader->next(r);) out.push_back(row_of(r));
  return out;
}

/// What the reader says against the file; "accepted" if nothing.
inline std::string refusal_of(const std::string& path, const ReadOptions& options = {}) {
  try {
    read_rows(path, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace quorate::test
