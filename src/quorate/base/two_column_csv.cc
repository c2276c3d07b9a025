#include "quorate/base/two_column_csv.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "quorate/base/csv.h"
#include "quorate/base/error.h"
#include "quorate/base/utf8.h"

namespace quorate {

void read_pairs(std::string_view what, const std::string& file, const std::string& left, const std::string& right,
                const std::function<void(const std::string&, const std::string&, const std::string&)>& use) {
  if (file.empty())
    throw UsageError(std::string(what) + ": expected file=PATH of a CSV file with the columns " + left + "," + right);
  std::ifstream in(file);
  if (!in) throw FileError(file + ": cannot be opened: " + std::strerror(errno));
  std::string line, unquoted;
  std::vector<CsvField> fields;
  bool header = false;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (!header && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // byte order mark
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const std::string where = file + ":" + std::to_string(number) + ": ", but = quoted_value(line) + "; expected ";
    if (const std::size_t at = find_not_utf8(line); at != line.npos) throw DataError(where + not_utf8(line[at]));
    bool closed = false;
    try {
      closed = split_csv(line, fields, unquoted);
    } catch (const LineError& e) {
      throw DataError(where + e.what());
    }
    if (!closed) throw DataError(where + but + "the quote in it to be closed");
    const bool two = fields.size() == 2 && !fields[0].text.empty() && !fields[1].text.empty();
    if (!header) {
      header = two && fields[0].text == left && fields[1].text == right;
      if (!header) throw DataError(where + but + "the header " + left + "," + right);
    } else {
      if (!two) throw DataError(where + but + "two fields, " + left + "," + right);
      use(std::string(fields[0].text), std::string(fields[1].text), where);
    }
  }
  if (in.bad()) throw FileError(file + ": cannot be read");
  if (!header) throw DataError(file + ": empty; expected the header " + left + "," + right);
}

}  // namespace quorate
