// The events of the desk. Each declares its fields once: the journal's lines, the checks of HTTP bodies and openapi.json
// follow.
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "quorate/desk/settings.h"
#include "quorate/params/json.h"

namespace quorate {

/// Where a field of an event stands in the HTTP request that makes the event.
enum class In { kBody, kPath, kQuery, kNowhere };

/// A field that must be present, and may be null.
template <class T>
struct Nullable : std::optional<T> {
  using std::optional<T>::optional;
};
template <class T>
inline constexpr bool is_nullable = false;
template <class T>
inline constexpr bool is_nullable<Nullable<T>> = true;
template <class T>
inline constexpr bool is_list = false;
template <class T>
inline constexpr bool is_list<std::vector<T>> = true;
/// The type of a field's value: T of T, std::optional<T> and Nullable<T>.
template <class T>
struct ValueOf {
  using type = T;
};
template <class T>
requires is_optional<T> || is_nullable<T>
struct ValueOf<T> {
  using type = typename T::value_type;
};

/// What a field of an event may be.
struct FieldRule {
  enum Type { kText, kWhole, kNumber, kFlag, kObject, kList };
  std::string_view name;
  Type type;
  Interval range;  ///< of a number, or of a text's length in bytes
  std::string_view meaning;
  In in;
  bool required, nullable;

  /// "a text of 1 to 200 bytes without control characters, or null"
  std::string expected() const;
  /// Whether the value's type fits.
  bool accepts(const Json& value) const;
  /// Whether its type and its range fit.
  bool accepts_within(const Json& value) const;
};

/// A field of an event: its member, its name, its range and its meaning. One of type std::optional may be missing.
template <class E, class T>
struct EventField {
  T E::*member;
  std::string_view name;
  Interval range;
  std::string_view meaning;
  In in = In::kBody;

  constexpr FieldRule rule() const {
    using V = typename ValueOf<T>::type;
    constexpr FieldRule::Type type = std::same_as<V, bool>            ? FieldRule::kFlag
                                     : std::same_as<V, std::string>   ? FieldRule::kText
                                     : std::same_as<V, std::uint64_t> ? FieldRule::kWhole
                                     : std::same_as<V, double>        ? FieldRule::kNumber
                                     : is_list<V>                     ? FieldRule::kList
                                                                      : FieldRule::kObject;
    return {name, type, range, meaning, in, !is_optional<T>, is_nullable<T>};
  }
};
template <class E, class T>
EventField(T E::*, std::string_view, Interval, std::string_view, In = In::kBody) -> EventField<E, T>;

namespace event {

inline constexpr Interval kName{1, 100}, kLease{1, 200}, kText{1, 1000}, kSeconds{0, 86'400}, kWhole{0, 0x1p53 - 1};

/// Lines of JSON, one example each: id, task, label (unsolicited), and features. The record has them after its first line.
struct Examples {
  static constexpr std::string_view kDo = "examples";
  std::optional<std::uint64_t> first = {};  ///< number of lines of the same request in earlier events
  std::string_view lines = {};              ///< must outlive the event
  static constexpr auto fields() {
    return std::tuple{EventField{&Examples::first, "first", kWhole, "lines of the request before these", In::kNowhere}};
  }
};

/// Examples that a worker judged by a replica of this desk. The lines are as those of Examples; the record has them after
/// its first line. The n-th position is that of the n-th line; probabilities are one for each line or, with classes, one for
/// each task of each line (Reduction::tasks).
struct Shared {
  static constexpr std::string_view kDo = "shared";
  std::string source;
  std::uint64_t read = 0;
  std::vector<std::uint64_t> positions;
  std::vector<Nullable<double>> probabilities;
  std::string_view lines = {};  ///< must outlive the event
  static constexpr auto fields() {
    return std::tuple{
        EventField{&Shared::source, "source", kName, "what the examples are read from: a file, a queue, a partition of one"},
        EventField{&Shared::read, "read", kWhole, "lines of the source before this one are judged"},
        EventField{&Shared::positions, "positions", kAny, "whole numbers that grow within a source: a line counts once"},
        EventField{
            &Shared::probabilities, "probabilities", kAny,
            "with which the worker asks for the label, above 0 and up to 1; null: it does not ask. With classes, one for "
            "each of their questions, line by line"}};
  }
};

/// Leases the question of highest worth, while the annotator holds fewer than `hold` and has an answer left for today.
struct Next {
  static constexpr std::string_view kDo = "next";
  std::string annotator;
  std::optional<std::uint64_t> hold = {};
  static constexpr auto fields() {
    return std::tuple{
        EventField{&Next::annotator, "annotator", kName, "who gets the question"},
        EventField{&Next::hold, "hold", {1, 1000}, "leases that the annotator may hold at a time; 2 if missing"}};
  }
};

struct Answer {
  static constexpr std::string_view kDo = "answer";
  std::string lease, label;
  std::optional<double> seconds = {};
  std::optional<std::string> annotator = {};
  static constexpr auto fields() {
    return std::tuple{EventField{&Answer::lease, "lease", kLease, "of the question"},
                      EventField{&Answer::label, "label", kText, "one of the question's choices"},
                      EventField{&Answer::seconds, "seconds", kSeconds, "that the annotator took"},
                      EventField{&Answer::annotator, "annotator", kName, "must hold the lease", In::kNowhere}};
  }
};

/// Gives the question to somebody else.
struct Skip {
  static constexpr std::string_view kDo = "skip";
  std::string lease;
  std::optional<std::string> annotator = {};
  static constexpr auto fields() {
    return std::tuple{EventField{&Skip::lease, "lease", kLease, "of the question"},
                      EventField{&Skip::annotator, "annotator", kName, "must hold the lease", In::kNowhere}};
  }
};

/// Takes the annotator's last answer back; the question is leased to them again.
struct Undo {
  static constexpr std::string_view kDo = "undo";
  std::string annotator;
  static constexpr auto fields() {
    return std::tuple{EventField{&Undo::annotator, "annotator", kName, "whose last answer is taken back"}};
  }
};

/// Prolongs a lease.
struct Renew {
  static constexpr std::string_view kDo = "renew";
  std::string lease;
  std::optional<std::string> annotator = {};
  static constexpr auto fields() {
    return std::tuple{EventField{&Renew::lease, "lease", kLease, "of the question"},
                      EventField{&Renew::annotator, "annotator", kName, "must hold the lease", In::kNowhere}};
  }
};

/// An answer from another tool: sets the annotator's answer to `label`, whether or not they answered or hold a lease; null
/// takes it back, and leases the question to `holder`.
struct Put {
  static constexpr std::string_view kDo = "put";
  std::uint64_t ticket = 0;
  std::string annotator;
  Nullable<std::string> label = {};
  std::string source;
  std::optional<std::string> example = {}, holder = {};
  std::optional<double> seconds = {};
  static constexpr auto fields() {
    return std::tuple{
        EventField{&Put::ticket, "ticket", kWhole, "of the question", In::kPath},
        EventField{&Put::annotator, "annotator", kName, "whose answer it is"},
        EventField{&Put::label, "label", kText, "one of the question's choices; null takes the answer back"},
        EventField{&Put::source, "source", kLease, "names the answer in the other tool"},
        EventField{&Put::example, "example", kText,
                   "the question's example: if the question is no longer open, the answer counts for the example"},
        EventField{&Put::holder, "holder", kName, "who gets the lease of a question whose answer is taken back"},
        EventField{&Put::seconds, "seconds", kSeconds, "that the annotator took"}};
  }
};

/// Settles a disagreement.
struct Decide {
  static constexpr std::string_view kDo = "decide";
  std::uint64_t ticket = 0;
  std::string label;
  static constexpr auto fields() {
    return std::tuple{EventField{&Decide::ticket, "ticket", kWhole, "of the question"},
                      EventField{&Decide::label, "label", kText, "the label that counts"}};
  }
};

/// Replaces the label budget.
struct Limits {
  static constexpr std::string_view kDo = "limits";
  Nullable<std::uint64_t> labels = {};
  std::optional<bool> audits = {};
  static constexpr auto fields() {
    return std::tuple{EventField{&Limits::labels, "labels", kWhole, "at most bought in all; null: no limit"},
                      EventField{&Limits::audits, "audits", kAny, "whether audits are drawn from now on"}};
  }
};

/// Replaces all DeskOptions.
struct Settings {
  static constexpr std::string_view kDo = "settings";
  DeskOptions desk;
  static constexpr auto fields() {
    return std::tuple{EventField{&Settings::desk, "desk", kAny, "the options that differ from the defaults", In::kNowhere}};
  }
};

/// Advances the time, no more.
struct Tick {
  static constexpr std::string_view kDo = "tick";
  static constexpr auto fields() { return std::tuple{}; }
};

struct ForgetTask {
  static constexpr std::string_view kDo = "forget_task";
  std::string task;
  static constexpr auto fields() { return std::tuple{EventField{&ForgetTask::task, "task", kAny, "its name", In::kPath}}; }
};

struct ForgetExample {
  static constexpr std::string_view kDo = "forget_example";
  std::string example;
  static constexpr auto fields() {
    return std::tuple{EventField{&ForgetExample::example, "example", kAny, "its id", In::kPath}};
  }
};

using Any = std::variant<Examples, Shared, Next, Answer, Skip, Undo, Renew, Put, Decide, Limits, Settings, Tick, ForgetTask,
                         ForgetExample>;

}  // namespace event

/// An event and its time.
struct Event {
  double at = 0;  ///< seconds since 1970
  event::Any what;
};

/// The event as the journal stores it: {"at": .., "do": .., ..}, and the lines of examples after it.
/// Throws Refused for a text that is not UTF-8.
std::string to_record(const Event& event);
/// The record with the event's result, which is ignored when the record is read.
std::string with_result(std::string record, std::string_view was);
/// The event of a record; its lines are those of the record. Throws Refused.
Event read_event(std::string_view record);

/// The value of a field, checked for its type; null if it may be missing and is. Throws Refused.
const Json* value_of(const FieldRule& rule, const Json& values);
void read_value(const Json& value, std::string& out);
void read_value(const Json& value, std::uint64_t& out);
void read_value(const Json& value, double& out);
void read_value(const Json& value, bool& out);
void read_value(const Json& value, DeskOptions& out);  ///< throws Refused for an option that is not one
template <class T>
void read_value(const Json& value, std::vector<T>& out);
template <class T>
requires is_optional<T> || is_nullable<T>
void read_value(const Json& value, T& out) {
  if (value.is_null()) return;
  read_value(value, out.emplace());
}

[[noreturn]] void refuse_element();
/// Throws Refused for an element of another type.
template <class T>
void read_value(const Json& value, std::vector<T>& out) {
  constexpr FieldRule kElement = EventField{&std::pair<T, int>::first, "an element of a list", kAny, ""}.rule();
  for (const Json& one : value) {
    if (!kElement.accepts(one)) refuse_element();
    read_value(one, out.emplace_back());
  }
}

/// The rules of an event's fields.
template <class E>
std::vector<FieldRule> rules_of() {
  return std::apply([](const auto&... field) { return std::vector<FieldRule>{field.rule()...}; }, E::fields());
}
/// The event, or another struct with fields(), of these values; others are ignored. Throws Refused for the first field that
/// is missing or whose type does not fit.
template <class E>
E event_of(const Json& values) {
  E out{};
  const auto one = [&](const auto& field) {
    if (const Json* value = value_of(field.rule(), values)) read_value(*value, out.*(field.member));
  };
  std::apply([&](const auto&... field) { (one(field), ...); }, E::fields());
  return out;
}

}  // namespace quorate
