// Pictures by gnuplot: lines that stay apart in black and white, keys beside the curves and not on them.
#pragma once
#include <string>
#include <vector>

namespace quorate {

/// Points of one curve, or marks without a line.
struct Series {
  std::string title;
  std::vector<double> x, y, spread;  // spread: half the height of the error bar, or empty
  bool marks_only = false;
};
struct Panel {
  std::string title, x_label, y_label;
  std::vector<Series> series;
  std::vector<std::string> categories = {};  // names along x at 0, 1, 2, ...; empty for numbers
  bool log_x = false;
};
/// Cells of a matrix, row 0 on top.
struct HeatMap {
  std::string title, x_label, y_label;
  std::vector<std::string> names;  // of rows and columns
  std::vector<std::vector<double>> value;
};

/// Throws UsageError unless the ending of `path` is one that can be drawn.
void check_picture(const std::string& path);

/// Draws the panels beside each other into `path`, in the format that its ending says (.svg, .png, .pdf); the file is
/// written whole or not at all. Throws UsageError for another ending, FileError if there is no gnuplot or it fails.
void plot(const std::string& path, const std::vector<Panel>& panels);
void plot(const std::string& path, const HeatMap& map);

}  // namespace quorate
