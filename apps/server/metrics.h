// Figures for Prometheus, of the server and of its workers.
#pragma once
#include <cmath>
#include <string>
#include <utility>

#include "quorate/stream/record.h"

namespace quorate::server {

/// Figures in the text format of Prometheus.
class Metrics {
 public:
  static constexpr const char* kType = "text/plain; version=0.0.4; charset=utf-8";

  void add(const char* name, const char* type, const char* help, double value) {
    head(name, type, help);
    row(name, "", value);
  }
  void head(const char* name, const char* type, const char* help) {
    text_.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ").append(name).append(" ");
    text_.append(type).append("\n");
  }
  void row(const char* name, const std::string& labels, double value) {
    text_.append(name).append(labels).append(" ");
    text_.append(std::isnan(value) ? "NaN" : shortest(value)).append("\n");
  }
  std::string text() { return std::move(text_); }

 private:
  std::string text_;
};

}  // namespace quorate::server
