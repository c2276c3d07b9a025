// What the fuzz targets share: a file for the input, and what no input may do.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>

#include "quorate/base/error.h"
#include "quorate/base/features.h"
#include "support/temp.h"

namespace quorate::fuzz {

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::cerr << "violated: " << what << "\n";
  std::abort();
}

/// Work that may throw nothing but this library's errors, each on one line.
template <class Work>
void only_errors(Work work) {
  try {
    work();
  } catch (const Error& e) {
    require(std::string_view(e.what()).find('\n') == std::string_view::npos, "an error is one line");
  }
}

/// The path of a file with these bytes. The same file each time.
inline std::string file_of(const std::string& name, std::string_view bytes) {
  static const test::TempDir dir;
  return dir.write(name, bytes);
}

inline void check_features(const Features& x) {
  for (const double v : x.value) require(std::isfinite(v), "values are finite");
  for (std::size_t k = 1; k < x.index.size(); ++k) require(x.index[k - 1] < x.index[k], "indices ascend");
}

/// Takes whole numbers off the front of the input; zeros when it is used up.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const auto out = static_cast<std::uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return out;
  }
  bool flag() { return (byte() & 1) != 0; }
  bool empty() const { return rest_.empty(); }
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

}  // namespace quorate::fuzz
