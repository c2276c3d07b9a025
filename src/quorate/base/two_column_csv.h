// Reads two-column CSV files about tasks (task and group, weight or edge).
#pragma once
#include <functional>
#include <string>
#include <string_view>

namespace quorate {

/// Calls use(left field, right field, "file:line: ") for every line of a CSV file with the header `left,right`. `what` names
/// the parameter in the message for an empty file name. Throws UsageError, FileError, DataError (line, what was expected).
void read_pairs(std::string_view what, const std::string& file, const std::string& left, const std::string& right,
                const std::function<void(const std::string& left, const std::string& right, const std::string& where)>& use);

}  // namespace quorate
