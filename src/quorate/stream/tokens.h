// What SVMlight and VW text have in common: tokens between spaces, most of them with a colon.
#pragma once
#include <string_view>

#include "quorate/base/byte_scan.h"

namespace quorate {

/// The colon of a token that Tokens tells of.
enum class Colon { kFirst, kLast };

/// Tokens of `text` between spaces and tabs, one after the other, part by part where `kBar` parts them.
template <Colon kWhich, char... kBar>
class Tokens {
 public:
  explicit Tokens(std::string_view text) : text_(text), separators_(text) {}

  /// Goes to the part's next token; false if there is none.
  [[gnu::always_inline]] bool next() {  // else its position is kept in memory, not in registers
    colon_ = std::string_view::npos;
    while (!at_end_) {
      const std::size_t begin = next_;
      std::size_t at = separators_.next();
      while (at < text_.size() && text_[at] == ':') {
        if (kWhich == Colon::kLast || colon_ == std::string_view::npos) colon_ = at - begin;
        at = separators_.next();
      }
      next_ = at + 1;
      at_end_ = at == text_.size() || ((text_[at] == kBar) || ...);
      if (at == begin) continue;
      token_ = {text_.data() + begin, at - begin};
      return true;
    }
    return false;
  }
  /// After the last token of a part, goes to the next part; false if there is none.
  bool next_part() {
    at_end_ = next_ > text_.size();
    return !at_end_;
  }
  /// At the beginning of a part: whether its first token touches the bar.
  bool touching() const {
    return next_ < text_.size() && text_[next_] != ' ' && text_[next_] != '\t' && ((text_[next_] != kBar) && ...);
  }
  std::string_view token() const { return token_; }
  std::size_t colon() const { return colon_; }  ///< its place in the token, or npos

 private:
  std::string_view text_, token_;
  Separators<' ', '\t', ':', kBar...> separators_;
  std::size_t next_ = 0, colon_ = std::string_view::npos;
  bool at_end_ = false;  // of a part
};

}  // namespace quorate
