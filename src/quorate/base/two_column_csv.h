// Small files that say something about tasks: two columns, a header, a pair a line.
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace quorate {

/// use(left field, right field, "file:line: ") for every line of a CSV file with the header `left,right`. `what` wants the
/// file, for the message when none is named. Throws UsageError, FileError, DataError with the line and what was expected.
void read_pairs(std::string_view what, const std::string& file, const std::string& left, const std::string& right,
                const std::function<void(const std::string& left, const std::string& right, const std::string& where)>& use);

}  // namespace quorate
