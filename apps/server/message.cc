#include "server/message.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "quorate/base/error.h"
#include "quorate/base/utf8.h"
#include "server/memory_reserve.h"

namespace quorate::server {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

}  // namespace

std::string_view Request::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view reason(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 421:
      return "Misdirected Request";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    case 507:
      return "Insufficient Storage";
    default:
      return status < 400 ? "Success" : "Error";
  }
}

Response problem(int status, std::string_view detail, std::string_view expected) {
  nlohmann::ordered_json more;
  if (!expected.empty()) more["expected"] = expected;
  return problem_with(status, detail, more);
}

Response problem_with(int status, std::string_view detail, const nlohmann::ordered_json& more) {
  nlohmann::ordered_json document{
      {"type", "about:blank"}, {"title", reason(status)}, {"status", status}, {"detail", detail}};
  if (more.is_object()) document.update(more);
  Response response;
  response.status = status;
  response.type = "application/problem+json";
  response.body = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return response;
}

Respond::~Respond() {
  if (!to_) return;
  try {
    once_there_is_memory([this] { to_(problem(500, "the server did not answer this request; its log may say why")); });
  } catch (const std::bad_alloc&) {
    // the client waits until its own patience ends
  }
}

void Respond::operator()(Response response) {
  if (!to_) throw std::logic_error("a request was answered twice");
  std::exchange(to_, nullptr)(std::move(response));
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      decoded += plus && text[i] == '+' ? ' ' : text[i];
    }
  }
  if (find_not_utf8(decoded) != std::string_view::npos) return std::nullopt;
  return decoded;
}

std::string parse_query(std::string_view text, TextMap& into) {
  while (!text.empty()) {
    const auto part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    const auto equals = part.find('=');
    auto name = percent_decoded(part.substr(0, equals), true);
    auto value = percent_decoded(equals == std::string_view::npos ? "" : part.substr(equals + 1), true);
    if (!name || !value) return "query parameter " + quoted_value(part) + ": malformed percent-encoding or not UTF-8";
    if (!into.emplace(*name, std::move(*value)).second) return "query parameter " + quoted_value(*name) + " occurs twice";
  }
  return {};
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::vector<std::string_view> list_elements(std::string_view header) {
  std::vector<std::string_view> elements;
  while (!header.empty()) {
    const auto element = header.substr(0, header.find(','));
    header.remove_prefix(std::min(header.size(), element.size() + 1));
    if (const auto text = trimmed(element); !text.empty()) elements.push_back(text);
  }
  return elements;
}

}  // namespace quorate::server
