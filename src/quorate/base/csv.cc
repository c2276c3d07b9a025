#include "quorate/base/csv.h"

#include "quorate/base/error.h"

namespace quorate {

bool split_csv(std::string_view line, std::vector<CsvField>& fields) {
  std::size_t count = 0, at = 0;
  for (;;) {
    if (count == fields.size()) fields.emplace_back();
    CsvField& field = fields[count++];
    field.text.clear();
    field.at = at;
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        const std::size_t quote = line.find('"', at);
        if (quote == line.npos) return false;
        field.text.append(line, at, quote - at);
        at = quote + 1;
        if (at == line.size() || line[at] != '"') break;
        field.text += '"';
      }
      if (at < line.size() && line[at] != ',')
        throw LineError(std::to_string(at + 1) + ": text after a closing quote; expected ',' or the end of the line");
    } else {
      const std::size_t comma = std::min(line.find(',', at), line.size());
      field.text.assign(line, at, comma - at);
      at = comma;
    }
    if (at == line.size()) break;
    ++at;  // the comma
  }
  fields.resize(count);
  return true;
}

bool quote_open(std::string_view line, bool open) {
  for (std::size_t at = 0;;) {
    if (open) {  // until a quote that is not doubled
      const std::size_t quote = line.find('"', at);
      if (quote == line.npos) return true;
      at = quote + 1;
      if (at < line.size() && line[at] == '"')
        ++at;
      else
        open = false;
    } else {  // until a field that starts with a quote
      if (at == 0 && line.starts_with('"')) {
        open = true;
        at = 1;
        continue;
      }
      const std::size_t field = line.find(",\"", at);
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
