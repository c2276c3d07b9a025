// Pictures, drawn by the program quorate-plot of the Python package (matplotlib).
#pragma once
#include <string>

#include "quorate/params/json.h"

namespace quorate::cli {

/// The program `name` beside this one, as pip installs it; else the name alone, to be looked for on the PATH.
std::string program_beside(const std::string& name);

/// Throws UsageError unless the ending of `path` is one that can be drawn: .svg, .png, .pdf.
void check_picture(const std::string& path);

/// Draws what python/quorate/_plot.py describes. `path` is written whole or not at all. Throws FileError if there is no such
/// program, or it fails.
void draw(const std::string& path, const Json& document);

}  // namespace quorate::cli
