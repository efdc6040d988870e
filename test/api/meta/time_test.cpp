#include "api/meta/time.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "test/support/vectors.h"

namespace muster::time_test {
namespace {

using nlohmann::json;

void check_time(const json& value, const json& output, bool micro) {
  const auto time = micro ? parse_micro_time(value) : parse_time(value);
  REQUIRE(time.ok() == output["valid"].get<bool>());
  if (!time.ok()) {
    CHECK(time.error().message == output["error"].get<std::string>());
    return;
  }
  CHECK(to_text(micro ? micro_time_to_json(*time) : time_to_json(*time)) == output["formatted"].get<std::string>());
  CHECK(time->is_zero() == output["isZero"].get<bool>());
  if (output.contains("unixSeconds")) CHECK(time->seconds == output["unixSeconds"].get<int64_t>());
  if (output.contains("nanoseconds")) CHECK(time->nanoseconds == output["nanoseconds"].get<int64_t>());
}

void check_duration(const json& value, const json& output) {
  const auto duration = parse_duration_json(value);
  REQUIRE(duration.ok() == output["valid"].get<bool>());
  if (!duration.ok()) {
    CHECK(duration.error().message == output["error"].get<std::string>());
    return;
  }
  CHECK(to_text(json(format_duration(*duration))) == output["formatted"].get<std::string>());
  CHECK(std::to_string(duration->count()) == output["nanoseconds"].get<std::string>());
}

std::string error_of(std::string_view text) {
  const auto time = parse_rfc3339(text);
  REQUIRE_FALSE(time.ok());
  return time.error().message;
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("times and durations are read and written as the originals were recorded") {
    const auto lines = test::load_vectors("times");
    for (const json& line : lines) {
      INFO(line["id"].get<std::string>());
      const auto value = parse_json(line["input"]["json"].get<std::string>());
      REQUIRE(value.ok());
      const std::string type = line["input"]["type"];
      if (type == "Duration") {
        check_duration(*value, line["output"]);
      } else {
        check_time(*value, line["output"], type == "MicroTime");
      }
    }
  }
}

TEST_SUITE("time") {
  TEST_CASE("malformed times are explained with what was expected where") {
    struct Row {
      std::string name;
      const char* text;
      std::string expected;
    };
    const Row rows[] = {
        {"a letter in the year", "20x6-01-01T00:00:00Z", "cannot parse \"20x6-01-01T00:00:00Z\" as \"2006\""},
        {"an hour of no digits", "2026-01-01T:00:00Z", "cannot parse \":00:00Z\" as \"15\""},
        {"a minute of one digit", "2026-01-01T00:0:00Z", "cannot parse \"0:00Z\" as \"04\""},
        {"a minute too large", "2026-01-01T00:60:00Z", "\": minute out of range"},
        {"text after the end", "2026-01-01T00:00:00Zx", "\": extra text: \"x\""},
        {"the day zero", "2026-01-00T00:00:00Z", "\": day out of range"},
        {"an offset hour too large", "2026-01-01T00:00:00+25:00", "\": time zone offset hour out of range"},
        {"an offset minute too large", "2026-01-01T00:00:00+00:61", "\": time zone offset minute out of range"},
        {"an offset without a sign", "2026-01-01T00:00:00x00:00", "cannot parse \"x00:00\" as \"Z07:00\""},
        {"an offset of letters", "2026-01-01T00:00:00+aa:00", "cannot parse \"+aa:00\" as \"Z07:00\""},
        {"bytes outside of ASCII", "\xc2\xb5", "parsing time \"\\xc2\\xb5\" as"},
    };
    for (const Row& row : rows) {
      INFO(row.name);
      const std::string error = error_of(row.text);
      INFO(error);
      CHECK(error.find(row.expected) != std::string::npos);
    }
  }

  TEST_CASE("an offset may lead out of the four-digit years and is still written") {
    CHECK(format_rfc3339(*parse_rfc3339("9999-12-31T23:59:59-01:00")) == "10000-01-01T00:59:59Z");
    CHECK(format_rfc3339(*parse_rfc3339("0000-01-01T00:00:00+01:00")) == "-0001-12-31T23:00:00Z");
  }

  TEST_CASE("a sign among the six digits of a MicroTime is Go's leniency") {
    CHECK(parse_rfc3339_micro("2026-01-01T00:00:00.+00005Z")->nanoseconds == 5000);
    CHECK(parse_rfc3339_micro("2026-01-01T00:00:00.-00000Z")->nanoseconds == 0);
    CHECK(parse_rfc3339_micro("2026-01-01T00:00:00.-00005Z").error().message ==
          "parsing time \"2026-01-01T00:00:00.-00005Z\": fractional second out of range");
  }

  TEST_CASE("instants convert to time points and back within their range") {
    const Timestamp time{-1, 999'999'999};
    CHECK(to_time_point(time) == TimePoint(Duration(-1)));
    CHECK(to_timestamp(TimePoint(Duration(-1))) == time);
    CHECK(to_timestamp(to_time_point({1'767'225'600, 5})) == Timestamp{1'767'225'600, 5});
    CHECK(to_time_point(Timestamp()) == TimePoint::min());
    CHECK(to_time_point(*parse_rfc3339("9999-12-31T23:59:59Z")) == TimePoint::max());
    CHECK(to_timestamp(TimePoint::min()) == Timestamp{-9'223'372'037, 145'224'192});
    CHECK(to_timestamp(TimePoint::max()) == Timestamp{9'223'372'036, 854'775'807});
  }

  TEST_CASE("the time between two instants is half of a Duration at most") {
    const TimePoint now = to_time_point(*parse_rfc3339("2026-01-01T00:00:00Z")), unset = to_time_point(Timestamp());
    CHECK(time_between(now, now + Duration(7)) == Duration(7));
    CHECK(time_between(now + Duration(7), now) == Duration(-7));
    CHECK(time_between(unset, now) == Duration::max() / 2);
    CHECK(time_between(now, unset) == -Duration::max() / 2);
    CHECK(time_between(TimePoint::min(), TimePoint::max()) == Duration::max() / 2);
  }

  TEST_CASE("every duration that is printed is read back as itself") {
    for (const int64_t count : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{999}, int64_t{1'500}, int64_t{-1'000'001},
                                int64_t{60'000'000'000}, int64_t{3'661'000'000'001}, INT64_MAX, INT64_MIN}) {
      const std::string text = format_duration(Duration(count));
      INFO(text);
      const auto back = parse_duration(text);
      REQUIRE(back.ok());
      CHECK(back->count() == count);
    }
  }

  TEST_CASE("durations of the wrong form are explained") {
    CHECK(parse_duration("1d").error().message == "time: unknown unit \"d\" in duration \"1d\"");
    CHECK(parse_duration("").error().message == "time: invalid duration \"\"");
    CHECK(parse_duration("-").error().message == "time: invalid duration \"-\"");
    CHECK(parse_duration(".s").error().message == "time: invalid duration \".s\"");
    CHECK(parse_duration("99999999999999999999s").error().message ==
          "time: invalid duration \"99999999999999999999s\"");
    CHECK(parse_duration_json(json::array()).error().message ==
          "json: cannot unmarshal array into Go value of type string");
  }
}

}  // namespace muster::time_test
