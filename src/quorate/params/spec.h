// A setting in text: `word`, or `word(key=spec, ...)`. One grammar for CLI, JSON, logs and model files.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "quorate/base/error.h"

namespace quorate {

/// What a setting's text says. `cmtl(query=margin(b=1))` is the word `cmtl` with one argument, `query`, whose value is
/// again a Spec. A word that holds a space, a quote or one of `(),=` is written in double quotes, with \" and \\ in it.
struct Spec {
  struct Arg;
  std::string word;
  std::vector<Arg> args;
};
struct Spec::Arg {
  std::string key;
  Spec value;
};

/// The Spec that `text` says. Throws UsageError with the place and what was expected. At most 16 levels deep.
Spec parse_spec(std::string_view text);

/// Exact inverse of parse_spec, in one normal spelling.
std::string to_text(const Spec& spec);

}  // namespace quorate
