#include "quorate/stream/time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "quorate/stream/record.h"

namespace quorate::test {
namespace {

TEST(Time, ANumberIsSeconds) {
  for (const auto& [text, seconds] : {std::pair{"0", 0.0},
                                      {"-0.5", -0.5},
                                      {"1764000000", 1764000000.0},
                                      {"1e9", 1e9},
                                      {"2026", 2026.0},
                                      {"20261321", 20261321.0},
                                      {"20261121.5", 20261121.5},
                                      {"0.1", 0.1},
                                      {"99999999999", 99999999999.0}})
    EXPECT_EQ(parse_time(text), seconds) << text;
}

TEST(Time, TheSizeOfANumberSaysItsUnit) {
  for (const auto& [text, seconds] : {std::pair{"1764000000123", 1764000000.123},
                                      {"1764000000123456", 1764000000.123456},
                                      {"1764000000123456789", 1764000000.123456789},
                                      {"-1764000000123", -1764000000.123},
                                      {"20261121", 1795219200.0},
                                      {"19000101", -2208988800.0},
                                      {"20240229", 1709164800.0},
                                      {"20261101103000", 1793529000.0},
                                      {"20261101103000.0", 1793529000.0},
                                      {"20240229235959", 1709251199.0},
                                      {"20261321103000", 20261321103.0},
                                      {"20261121243000", 20261121243.0},
                                      {"20261121103000.5", 20261121103.0005}})
    EXPECT_DOUBLE_EQ(parse_time(text).value_or(0), seconds) << text;
  for (const char* none : {"1e20", "-1e300", "1e300"}) EXPECT_FALSE(parse_time(none)) << none;
}

TEST(Time, WhatLooksLikeATimeIsKnown) {
  for (const char* text :
       {"11/21/2026", "11/21/2026 3:15 PM", "21/11/2026", "Nov 2026", "2026-11-21T13:15:00 CEST", "31.11.2026"})
    EXPECT_TRUE(!parse_time(text) && looks_like_time(text)) << text;
  for (const char* text : {"", "a", "5", "1.234,5", "room 2026-11", "12:30", "192.168.0.1", "marker 2026", "+49 30 1234567"})
    EXPECT_FALSE(looks_like_time(text)) << text;
}

TEST(Time, ADateIsSecondsOfTheUniversalTime) {
  constexpr double kDay = 1795219200;  // 2026-11-21
  for (const auto& [text, seconds] : {std::pair{"1970-01-01", 0.0},
                                      {"1969-12-31", -86400.0},
                                      {"0001-01-01", -62135596800.0},
                                      {"9999-12-31T23:59:59Z", 253402300799.0},
                                      {"2024-02-29", 1709164800.0},
                                      {"2000-02-29", 951782400.0},
                                      {"2026-11-21", kDay},
                                      {"2026-11-21T00:00Z", kDay},
                                      {"2026-11-21T13:15:00", kDay + 47700},
                                      {"2026-11-21 13:15:00", kDay + 47700},
                                      {"2026-11-21 13:15", kDay + 47700},
                                      {"2026-11-21T13:15:00Z", kDay + 47700},
                                      {"2026-11-21T13:15:00+01:00", kDay + 44100},
                                      {"2026-11-21T13:15:00-0330", kDay + 60300},
                                      {"2026-11-21T13:15+01", kDay + 44100},
                                      {"2026-11-21T13:15:00-00:00", kDay + 47700},
                                      {"2026-11-21T13:15:00.25+01:00", kDay + 44100.25},
                                      {"2026-11-21 13:15:00 +0100", kDay + 44100},
                                      {"2026-11-21 13:15:00 UTC", kDay + 47700},
                                      {"2026-11-21 13:15:00,25", kDay + 47700.25},
                                      {"2026/11/21", kDay},
                                      {"21.11.2026", kDay},
                                      {"1.2.2026", kDay - 293 * 86400},
                                      {"21.11.2026 13:15", kDay + 47700},
                                      {"21-Nov-2026", kDay},
                                      {"21 november 2026", kDay},
                                      {"Nov 21, 2026", kDay},
                                      {"Sat, 21 Nov 2026 13:15:00 GMT", kDay + 47700},
                                      {"Sat, 21 Nov 2026 13:15:00 +0100", kDay + 44100}})
    EXPECT_EQ(parse_time(text), seconds) << text;
}

TEST(Time, AFractionIsTheNearestDoubleBefore1970Too) {
  EXPECT_EQ(parse_time("1970-01-01T00:00:00.1"), 0.1);
  EXPECT_EQ(parse_time("1970-01-01T00:00:03.000000001Z"), 3.000000001);
  EXPECT_EQ(parse_time("1969-12-31T23:59:59.9"), -0.1);
  EXPECT_EQ(parse_time("1969-12-31T23:59:57.999999999999999999"), -2.000000000000000001);
  EXPECT_EQ(parse_time("1969-12-31T23:59:59.000000000000000000"), -1.0);
  EXPECT_EQ(parse_time("2026-11-21T13:15:00.123456"), 1795266900.123456);
}

TEST(Time, WhatIsNeitherIsNoTime) {
  for (const std::string bad : {"",
                                " ",
                                "yesterday",
                                "nan",
                                "inf",
                                "-inf",
                                "1e999",
                                "0x10",
                                "+5",
                                "1,5",
                                " 5",
                                "5 ",
                                "26-11-21",
                                "2026-11",
                                "2026-11-",
                                "2026-1-2",
                                "2026-13-01",
                                "2026-00-01",
                                "2026-02-30",
                                "2025-02-29",
                                "1900-02-29",
                                "2026-11-31",
                                "0000-01-01",
                                "12026-11-21",
                                "-2026-11-21",
                                "2026-11-21T",
                                "2026-11-21T13",
                                "2026-11-21T13:15:",
                                "2026-11-21T1:15",
                                "2026-11-21T24:00",
                                "2026-11-21T13:60",
                                "2026-11-21T23:59:60",
                                "2026-11-21t13:15",
                                "2026-11-21  13:15",
                                "2026-11-21T13:15:00.",
                                "2026-11-21T13:15:00.Z",
                                "2026-11-21T13:15.5",
                                "2026-11-21T13:15:00.1234567890123456789",
                                "2026-11-21T13:15:00z",
                                "2026-11-21T13:15:00ZZ",
                                "2026-11-21T13:15:00+1",
                                "2026-11-21T13:15:00+24:00",
                                "2026-11-21T13:15:00+01:60",
                                "2026-11-21T13:15:00+01:",
                                "2026-11-21T13:15:00 CET",
                                "2026-11-21Z",
                                "11/21/2026"})
    EXPECT_FALSE(parse_time(bad)) << bad;
}

RC_GTEST_PROP(Time, EveryDayAndSecondComesBack, ()) {
  const int day = *rc::gen::inRange(-719162, 2932897), second = *rc::gen::inRange(0, 86400);
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{day}}};
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), second / 3600, second / 60 % 60,
                second % 60);
  RC_ASSERT(parse_time(text) == 86400.0 * day + second);
}

RC_GTEST_PROP(Time, EveryNumberWrittenShortestComesBack, ()) {
  const double value =
      static_cast<double>(*rc::gen::inRange<std::int64_t>(-100'000'000'000'000, 100'000'000'000'000)) / 1024;
  RC_PRE(value < 19000101 || value > 21001231);
  RC_ASSERT(parse_time(shortest(value)) == value);
}

TEST(Time, PartsAreHourAndWeekdayInUtc) {
  const auto parts = [](const char* text) {
    const TimeParts of = time_parts(*parse_time(text));
    return of.hour + " " + std::string(of.weekday);
  };
  EXPECT_EQ(parts("1970-01-01"), "0 thu");
  EXPECT_EQ(parts("2026-11-24T23:59:59Z"), "23 tue");
  EXPECT_EQ(parts("2026-11-25T00:30:00+01:00"), "23 tue");
  EXPECT_EQ(parts("1969-12-31T23:00:00Z"), "23 wed");
}

}  // namespace
}  // namespace quorate::test
