#include "quorate/base/csv.h"

#include "quorate/base/byte_scan.h"
#include "quorate/base/error.h"

namespace quorate {

namespace {

template <char kDelimiter>
bool split(std::string_view line, std::vector<CsvField>& fields, std::string& unquoted) {
  fields.clear();
  unquoted.clear();
  Separators<kDelimiter> commas(line);
  for (std::size_t at = 0;;) {
    CsvField& field = fields.emplace_back();
    field.at = at;
    std::size_t comma = commas.next();
    if (at == line.size() || line[at] != '"') {
      field.text = {line.data() + at, comma - at};
    } else {
      const std::size_t begin = at + 1, kept = unquoted.size();
      std::size_t quote = line.find('"', begin), from = begin;
      for (; quote != line.npos && quote + 1 < line.size() && line[quote + 1] == '"'; quote = line.find('"', from)) {
        unquoted.reserve(line.size());  // never exceeded, so views of other fields stay valid
        unquoted.append(line, from, quote + 1 - from);
        from = quote + 2;
      }
      if (quote == line.npos) return false;
      if (from == begin) {
        field.text = line.substr(begin, quote - begin);
      } else {
        unquoted.append(line, from, quote - from);
        field.text = std::string_view(unquoted).substr(kept);
      }
      at = quote + 1;
      if (at < line.size() && line[at] != kDelimiter)
        throw LineError(std::to_string(at + 1) + ": text after a closing quote; expected " +
                        (kDelimiter == '\t' ? "a tab" : quoted_value(std::string(1, kDelimiter))) +
                        " or the end of the line");
      while (comma < at) comma = commas.next();
    }
    if (comma == line.size()) return true;
    at = comma + 1;
  }
}

}  // namespace

bool split_csv(std::string_view line, std::vector<CsvField>& fields, std::string& unquoted, char delimiter) {
  switch (delimiter) {
    case ';':
      return split<';'>(line, fields, unquoted);
    case '\t':
      return split<'\t'>(line, fields, unquoted);
    case '|':
      return split<'|'>(line, fields, unquoted);
    default:
      return split<','>(line, fields, unquoted);
  }
}

bool quote_open(std::string_view line, bool open, char delimiter) {
  const char opens[] = {delimiter, '"'};
  if (line.find('"') == line.npos) return open;
  for (std::size_t at = 0;;) {
    if (open) {  // to a quote that is not doubled
      const std::size_t quote = line.find('"', at);
      if (quote == line.npos) return true;
      at = quote + 1;
      if (at < line.size() && line[at] == '"')
        ++at;
      else
        open = false;
    } else {  // to a field that starts with a quote
      if (at == 0 && line.starts_with('"')) {
        open = true;
        at = 1;
        continue;
      }
      const std::size_t field = line.find(std::string_view(opens, 2), at);
      if (field == line.npos) return false;
      open = true;
      at = field + 2;
    }
  }
}

std::string csv_quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

}  // namespace quorate
