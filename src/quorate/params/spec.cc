#include "quorate/params/spec.h"

namespace quorate {
namespace {

constexpr std::string_view kSpecial = "(),= \t\"\\";

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Spec whole() {
    Spec out = spec(0);
    if (at_ != text_.size()) fail("expected the end");
    return out;
  }

 private:
  Spec spec(int depth) {
    if (depth > 16) fail("nested more than 16 levels deep");
    Spec out{word(), {}};
    if (!eat('(') || eat(')')) return out;
    do {
      std::string key = word();
      if (!eat('=')) fail("expected '=' after '" + key + "'");
      out.args.push_back({std::move(key), spec(depth + 1)});
    } while (eat(','));
    if (!eat(')')) fail("expected ',' or ')'");
    return out;
  }
  std::string word() {
    skip_spaces();
    std::string out;
    if (at_ < text_.size() && text_[at_] == '"') {
      for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
        if (text_[at_] == '\\' && ++at_ == text_.size()) break;
        out += text_[at_];
      }
      if (at_ == text_.size()) fail("expected a closing quote");
      ++at_;
    } else {
      while (at_ < text_.size() && kSpecial.find(text_[at_]) == kSpecial.npos) out += text_[at_++];
      if (out.empty()) fail("expected a word");
    }
    skip_spaces();
    return out;
  }
  bool eat(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    skip_spaces();
    return true;
  }
  void skip_spaces() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError("'" + std::string(text_) + "': " + what + " at character " + std::to_string(at_ + 1));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string quoted_value(const std::string& word) {
  if (!word.empty() && word.find_first_of(kSpecial) == word.npos) return word;
  std::string out = "\"";
  for (const char c : word) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

Spec parse_spec(std::string_view text) { return Parser(text).whole(); }

std::string to_text(const Spec& spec) {
  std::string out = quoted_value(spec.word);
  for (std::size_t i = 0; i < spec.args.size(); ++i)
    out += (i ? ", " : "(") + quoted_value(spec.args[i].key) + "=" + to_text(spec.args[i].value);
  return spec.args.empty() ? out : out + ")";
}

}  // namespace quorate
