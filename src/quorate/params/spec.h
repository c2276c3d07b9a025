// A setting as text: `word` or `word(key=spec, ...)`. One grammar for command line, JSON and model files.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/error.h"

namespace quorate {

/// A parsed setting. `cmtl(query=margin(b=1))` is the word `cmtl` with one argument, `query`, whose value is a Spec. A word
/// with a space, a quote or one of `(),=` is written in double quotes, with \" and \\ as escapes.
struct Spec {
  struct Arg;
  std::string word;
  std::vector<Arg> args;
};
struct Spec::Arg {
  std::string key;
  Spec value;
};

/// Parses `text`. Throws UsageError with the position and what was expected. At most 16 levels deep.
Spec parse_spec(std::string_view text);

/// Exact inverse of parse_spec, in canonical spelling.
std::string to_text(const Spec& spec);

}  // namespace quorate
