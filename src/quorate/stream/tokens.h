// What SVMlight and VW text have in common: tokens between spaces, most of them with a colon.
#pragma once
#include <string_view>

#include "quorate/base/scan.h"

namespace quorate {

/// The colon of a token that Tokens tells of.
enum class Colon { kFirst, kLast };

/// Tokens of `text` between spaces and tabs, one after the other.
template <Colon kWhich>
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text), separators_(text) {}

  /// Goes to the next token; false if there is none.
  bool next() {
    colon_ = std::string_view::npos;
    for (;;) {
      const std::size_t begin = next_;
      if (begin > text_.size()) return false;
      std::size_t at = separators_.next();
      while (at < text_.size() && text_[at] == ':') {
        if (kWhich == Colon::kLast || colon_ == std::string_view::npos) colon_ = at - begin;
        at = separators_.next();
      }
      next_ = at + 1;
      if (at == begin) continue;
      token_ = {text_.data() + begin, at - begin};
      return true;
    }
  }
  std::string_view token() const { return token_; }
  std::size_t colon() const { return colon_; }  ///< its place in the token, or npos

 private:
  std::string_view text_, token_;
  Separators<' ', '\t', ':'> separators_;
  std::size_t next_ = 0, colon_ = std::string_view::npos;
};

}  // namespace quorate
