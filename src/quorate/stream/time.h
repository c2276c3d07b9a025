// When an example came: from the text of a time column to seconds.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace quorate {

/// What parse_time takes, for messages.
inline constexpr std::string_view kTimeExpected =
    "a time: seconds, milliseconds, microseconds or nanoseconds since 1970, a day as 20261121 or with its time as "
    "20261121131500, or a date with or without a time of day, as 2026-11-21, 21.11.2026 or 2026-11-21T13:15:00+01:00";

/// Seconds since 1970-01-01 00:00 UTC of a number, whose size says its unit: a whole number from 19000101 to 21001231 that
/// is the year, month and day of a date is that day (seconds of that size are in 1970), and so is one of 14 digits with
/// hour, minute and second (milliseconds of that size are after 2570); below 1e11 it is seconds (until the year 5138), below
/// 1e14 milliseconds, below 1e17 microseconds, below 1e20 nanoseconds; beyond it is no time.
std::optional<double> seconds_of(double number);

/// Seconds since 1970-01-01 00:00 UTC, leap seconds not counted; nothing if `text` is no time. A time is a number as
/// seconds_of() takes it (1764000000, -0.5, 1764000000000), or what ISO 8601 calls the extended format, years 0001 to 9999:
///
///     2026-11-21   2026-11-21T13:15   2026-11-21 13:15:00   2026-11-21T13:15:00.25Z   2026-11-21T13:15:00+01:00
///
/// with T or one space before the time of day, up to 18 digits of a second after a point or comma, and Z, UTC, GMT, +HH:MM,
/// +HHMM or +HH (or -) as zone, after a space or not; no zone is UTC. Before the time of day also 2026/11/21; 21.11.2026,
/// the day first; and with names of months 21-Nov-2026, "Nov 21, 2026", "21 Nov 2026", "Sat, 21 Nov 2026" (RFC 2822). Of
/// 11/12/2026 nothing says which is the day: it is none. The nearest double, whatever the locale.
std::optional<double> parse_time(std::string_view text);

/// Whether a text that is no time has the parts of one, as 11/21/2026 3:15 PM: for warnings.
bool looks_like_time(std::string_view text);

/// Hour (0 to 23) and weekday (mon, ..) in UTC of a time, as the words of features.
struct TimeParts {
  std::string hour;
  std::string_view weekday;
};
TimeParts time_parts(double seconds);

}  // namespace quorate
