#include "quorate/desk/events.h"

#include <algorithm>
#include <cmath>

#include "quorate/base/error.h"
#include "quorate/base/number.h"
#include "quorate/base/utf8.h"
#include "quorate/desk/replies.h"

namespace quorate {
namespace {

/// A whole number of JSON: 3, 3.0 and -0 are.
std::optional<std::uint64_t> whole(const Json& value) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>();
  if (!value.is_number()) return std::nullopt;
  const double v = value.get<double>();
  if (!(v >= 0 && v <= event::kWhole.hi && v == std::floor(v))) return std::nullopt;
  return static_cast<std::uint64_t>(v);
}

void write(std::string& out, std::string_view name, const std::string& text) {
  if (!text.empty() && find_not_utf8(text) != text.npos)
    throw Refused{Verdict::kMalformed, std::string(name) + ": expected UTF-8 text"};
  out += Json(text).dump();
}
void write(std::string& out, std::string_view, std::uint64_t number) { out += std::to_string(number); }
void write(std::string& out, std::string_view, double number) { out += shortest(number); }
void write(std::string& out, std::string_view, bool flag) { out += flag ? "true" : "false"; }
void write(std::string& out, std::string_view, const DeskOptions& options) { out += options.to_json(); }
template <class T>
void write(std::string& out, std::string_view name, const Nullable<T>& value) {
  if (value)
    write(out, name, *value);
  else
    out += "null";
}

template <class T>
void write(std::string& out, std::string_view name, const std::vector<T>& values) {
  out += '[';
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (n > 0) out += ',';
    write(out, name, values[n]);
  }
  out += ']';
}

template <class T>
void write_field(std::string& out, std::string_view name, const T& value) {
  if constexpr (is_optional<T>) {
    if (value) write_field(out, name, *value);
  } else {
    out.append(",\"").append(name).append("\":");
    write(out, name, value);
  }
}

}  // namespace

std::string FieldRule::expected() const {
  const auto number = [](double v) { return std::to_string(static_cast<std::uint64_t>(v)); };
  std::string out;
  switch (type) {
    case kText:
      out = std::isfinite(range.hi)
                ? "a text of " + number(range.lo) + " to " + number(range.hi) + " bytes without control characters"
                : "a text";
      break;
    case kWhole:
      out = "a whole number from " + number(range.lo) + (range.hi == event::kWhole.hi ? "" : " to " + number(range.hi));
      break;
    case kNumber:
      out = "a number from " + number(range.lo) + " to " + number(range.hi);
      break;
    case kFlag:
      out = "true or false";
      break;
    case kObject:
      out = "an object";
      break;
    case kList:
      out = "a list";
      break;
  }
  return nullable ? out + ", or null" : out;
}

bool FieldRule::accepts(const Json& value) const {
  if (value.is_null()) return nullable;
  switch (type) {
    case kText:
      return value.is_string() && !value.get_ref<const std::string&>().empty();
    case kWhole:
      return whole(value).has_value();
    case kNumber:
      return value.is_number();
    case kFlag:
      return value.is_boolean();
    case kObject:
      return value.is_object();
    case kList:
      return value.is_array();
  }
  return false;
}

bool FieldRule::accepts_within(const Json& value) const {
  if (!accepts(value)) return false;
  if (value.is_null()) return true;
  if (type == kWhole) return range.contains(static_cast<double>(*whole(value)));
  if (type == kNumber) return range.contains(value.get<double>());
  if (type != kText || !std::isfinite(range.hi)) return true;
  const auto& text = value.get_ref<const std::string&>();
  return range.contains(static_cast<double>(text.size())) &&
         std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == 127; });
}

const Json* value_of(const FieldRule& rule, const Json& values) {
  const auto found = values.find(rule.name);
  if (found == values.end() ? rule.required : !rule.accepts(*found))
    throw Refused{Verdict::kMalformed, std::string(rule.name) + ": expected " + rule.expected()};
  return found == values.end() ? nullptr : &*found;
}

void refuse_element() {
  throw Refused{Verdict::kMalformed, "a list has an element of another type",
                "positions: whole numbers; probabilities: numbers or null"};
}

void read_value(const Json& value, std::string& out) { out = value.get<std::string>(); }
void read_value(const Json& value, std::uint64_t& out) { out = whole(value).value(); }
void read_value(const Json& value, double& out) { out = value.get<double>(); }
void read_value(const Json& value, bool& out) { out = value.get<bool>(); }
void read_value(const Json& value, DeskOptions& out) {
  try {
    out = DeskOptions::from_json(value.dump());
  } catch (const Error& e) {
    throw Refused{Verdict::kMalformed, e.what()};
  }
}

std::string to_record(const Event& event) {
  std::string out = "{\"at\":" + shortest(event.at);
  std::visit(
      [&](const auto& what) {
        using E = std::remove_cvref_t<decltype(what)>;
        out.append(",\"do\":\"").append(E::kDo).append("\"");
        std::apply([&](const auto&... field) { (write_field(out, field.name, what.*(field.member)), ...); }, E::fields());
        out += '}';
        if constexpr (requires { what.lines; }) out.append("\n").append(what.lines);
      },
      event.what);
  return out;
}

std::string with_result(std::string record, std::string_view was) {
  if (!was.empty()) record.insert(std::min(record.find('\n'), record.size()) - 1, ",\"was\":" + std::string(was));
  return record;
}

Event read_event(std::string_view record) {
  const std::size_t end = record.find('\n');
  const Json fields = Json::parse(record.substr(0, end), nullptr, false);
  if (!fields.is_object()) throw Refused{Verdict::kMalformed, "event: expected a JSON object"};
  const auto at = fields.find("at"), what = fields.find("do");
  if (at == fields.end() || !at->is_number()) throw Refused{Verdict::kMalformed, "at: expected a time in seconds"};
  if (what == fields.end() || !what->is_string()) throw Refused{Verdict::kMalformed, "do: expected a text"};
  Event out{at->get<double>(), {}};
  const auto& name = what->get_ref<const std::string&>();
  const auto try_one = [&]<class E>(std::type_identity<E>) {
    if (name != E::kDo) return false;
    E one = event_of<E>(fields);
    if constexpr (requires { one.lines; })
      if (end != record.npos) one.lines = record.substr(end + 1);
    out.what = std::move(one);
    return true;
  };
  const bool known = [&]<class... E>(std::type_identity<std::variant<E...>>) {
    return (try_one(std::type_identity<E>()) || ...);
  }(std::type_identity<event::Any>());
  if (!known) throw Refused{Verdict::kMalformed, "do: unknown event '" + name + "'"};
  return out;
}

}  // namespace quorate
