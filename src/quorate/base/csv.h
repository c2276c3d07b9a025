// One line of comma-separated values (RFC 4180).
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace quorate {

/// A field and its first byte in the line, from 0.
struct CsvField {
  std::string_view text;  ///< a view of the line, or of the caller's `unquoted`
  std::size_t at = 0;
};

/// Splits `line` into `fields` at `delimiter` (one of , ; | and tab), reusing their memory. Quoted fields may hold
/// delimiters, doubled quotes and, if the caller joined the lines, newlines; those with doubled quotes are written to
/// `unquoted`. Returns false if a quoted field is still open at the end. Throws LineError if text follows a closing quote.
bool split_csv(std::string_view line, std::vector<CsvField>& fields, std::string& unquoted, char delimiter = ',');

/// Whether a quoted field is open after `line`, given whether one was open before it.
bool quote_open(std::string_view line, bool open, char delimiter = ',');

/// `text` as a CSV field, quoted where necessary.
std::string csv_quoted(std::string_view text);

}  // namespace quorate
