#include "api/meta/time.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/go_strconv.h"

namespace muster {
namespace {

using nlohmann::json;
using std::chrono::seconds;

constexpr std::string_view kLayout = "2006-01-02T15:04:05Z07:00";
constexpr std::string_view kMicroLayout = "2006-01-02T15:04:05.000000Z07:00";

bool is_digit(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}
bool is_separator(char c) {
  return c == '.' || c == ',';
}
int digit(std::string_view text, size_t at) {
  return text[at] - '0';
}

// Reads a timestamp part by part. The first error is kept; every step after it does nothing, so that the code
// can list the steps one after another.
class TimeReader {
 public:
  TimeReader(std::string_view text, bool micro) : text_(text), rest_(text), micro_(micro) {}

  Result<Timestamp> read() {
    const int year = read_year();
    read_literal('-');
    const int month = read_two_digits("01");
    if (month < 1 || month > 12) out_of_range("month");
    read_literal('-');
    const int day = read_two_digits("02");
    read_literal('T');
    const int hour = read_hour();
    read_literal(':');
    const int minute = read_two_digits("04");
    if (minute > 59) out_of_range("minute");
    read_literal(':');
    const int second = read_two_digits("05");
    if (second > 59) out_of_range("second");
    const int nanoseconds = micro_ ? read_microseconds() : read_any_fraction();
    const int offset = read_zone();
    if (!rest_.empty()) complain(": extra text: " + go_quote_ascii(rest_));
    if (error_) return fail(*error_);

    using namespace std::chrono;
    const year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                              std::chrono::day(static_cast<unsigned>(day))};
    if (!date.ok()) {
      out_of_range("day");
      return fail(*error_);
    }
    const sys_seconds time = sys_days(date) + hours(hour) + minutes(minute) + std::chrono::seconds(second - offset);
    return Timestamp{time.time_since_epoch().count(), nanoseconds};
  }

 private:
  void complain(const std::string& message) {
    if (!error_) error_ = "parsing time " + go_quote_ascii(text_) + message;
  }
  void out_of_range(const std::string& what) { complain(": " + what + " out of range"); }
  void cannot_parse(std::string_view rest, std::string_view element) {
    complain(" as " + go_quote_ascii(micro_ ? kMicroLayout : kLayout) + ": cannot parse " + go_quote_ascii(rest) +
             " as " + go_quote_ascii(element));
  }

  void read_literal(char c) {
    if (rest_.empty() || rest_.front() != c) return cannot_parse(rest_, std::string_view(&c, 1));
    rest_.remove_prefix(1);
  }

  int read_year() {
    for (size_t i = 0; i < 4; ++i) {
      if (!is_digit(rest_, i)) {
        cannot_parse(rest_, "2006");
        return 0;
      }
    }
    const int year = digit(rest_, 0) * 1000 + digit(rest_, 1) * 100 + digit(rest_, 2) * 10 + digit(rest_, 3);
    rest_.remove_prefix(4);
    return year;
  }

  int read_two_digits(std::string_view element) {
    if (!is_digit(rest_, 0) || !is_digit(rest_, 1)) {
      cannot_parse(rest_, element);
      return 1;
    }
    const int value = digit(rest_, 0) * 10 + digit(rest_, 1);
    rest_.remove_prefix(2);
    return value;
  }

  // The only part that can have one digit instead of two.
  int read_hour() {
    if (is_digit(rest_, 0) && !is_digit(rest_, 1)) {
      const int hour = digit(rest_, 0);
      rest_.remove_prefix(1);
      return hour;
    }
    const int hour = read_two_digits("15");
    if (hour > 23) out_of_range("hour");
    return hour;
  }

  // Any number of digits, of which nine count; a separator without digits is left for read_zone.
  int read_any_fraction() {
    if (rest_.empty() || !is_separator(rest_.front()) || !is_digit(rest_, 1)) return 0;
    int nanoseconds = 0;
    size_t count = 0;
    rest_.remove_prefix(1);
    for (; is_digit(rest_, 0); rest_.remove_prefix(1)) {
      if (count++ < 9) nanoseconds = nanoseconds * 10 + digit(rest_, 0);
    }
    for (; count < 9; ++count) nanoseconds *= 10;
    return nanoseconds;
  }

  // Go accepts a sign in place of the first digit: "-00000" is zero.
  int read_microseconds() {
    constexpr std::string_view kElement = ".000000";
    if (rest_.size() < kElement.size() || !is_separator(rest_.front())) {
      cannot_parse(rest_, kElement);
      return 0;
    }
    const bool has_sign = rest_[1] == '+' || rest_[1] == '-';
    int micros = 0;
    for (size_t i = has_sign ? 2 : 1; i < kElement.size(); ++i) {
      if (!is_digit(rest_, i)) {
        cannot_parse(rest_, kElement);
        return 0;
      }
      micros = micros * 10 + digit(rest_, i);
    }
    if (rest_[1] == '-' && micros > 0) out_of_range("fractional second");
    rest_.remove_prefix(kElement.size());
    return micros * 1000;
  }

  // Seconds east of Greenwich. Offsets of 24 hours and 60 minutes are let through.
  int read_zone() {
    constexpr std::string_view kElement = "Z07:00";
    if (!rest_.empty() && rest_.front() == 'Z') {
      rest_.remove_prefix(1);
      return 0;
    }
    if (rest_.size() < kElement.size() || rest_[3] != ':') {
      cannot_parse(rest_, kElement);
      return 0;
    }
    const bool has_hours = is_digit(rest_, 1) && is_digit(rest_, 2);
    const bool has_minutes = is_digit(rest_, 4) && is_digit(rest_, 5);
    const int hours = has_hours ? digit(rest_, 1) * 10 + digit(rest_, 2) : 0;
    const int minutes = has_minutes ? digit(rest_, 4) * 10 + digit(rest_, 5) : 0;
    if (has_hours && has_minutes && minutes > 60) out_of_range("time zone offset minute");
    if (hours > 24) out_of_range("time zone offset hour");
    const char sign = rest_.front();
    if (!has_hours || !has_minutes || (sign != '+' && sign != '-')) cannot_parse(rest_, kElement);
    rest_.remove_prefix(kElement.size());
    const int offset = (hours * 60 + minutes) * 60;
    return sign == '-' ? -offset : offset;
  }

  const std::string_view text_;
  std::string_view rest_;
  const bool micro_;
  std::optional<std::string> error_;
};

void append_padded(std::string& out, int64_t value, size_t width) {
  const std::string digits = std::to_string(value);
  if (digits.size() < width) out.append(width - digits.size(), '0');
  out += digits;
}

std::string format(Timestamp time, bool micro) {
  using namespace std::chrono;
  const sys_seconds instant{seconds(time.seconds)};
  const sys_days day = floor<days>(instant);
  const year_month_day date(day);
  const hh_mm_ss clock(instant - day);
  const int year = static_cast<int>(date.year());
  std::string out = year < 0 ? "-" : "";  // an offset can move the year 0 or 9999 beyond its end
  append_padded(out, year < 0 ? -year : year, 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, clock.hours().count(), 2);
  out += ':';
  append_padded(out, clock.minutes().count(), 2);
  out += ':';
  append_padded(out, clock.seconds().count(), 2);
  if (micro) {
    out += '.';
    append_padded(out, time.nanoseconds / 1000, 6);
  }
  return out + "Z";
}

template <class Parse>
Result<Timestamp> from_json(const json& value, Parse parse) {
  if (value.is_null()) return Timestamp();
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr) return fail(go_not_a_string(value));
  return parse(*text);
}

}  // namespace

Timestamp to_timestamp(TimePoint time) {
  // Not as the difference to the whole second: the first second of all time points begins before the first time point.
  const auto remainder = time.time_since_epoch() % seconds(1);
  const auto fraction = remainder.count() < 0 ? remainder + seconds(1) : remainder;
  return {whole_seconds(time).seconds, static_cast<int32_t>(fraction.count())};
}

Timestamp whole_seconds(TimePoint time) {
  return {std::chrono::floor<seconds>(time).time_since_epoch().count(), 0};
}

TimePoint to_time_point(Timestamp time) {
  using std::chrono::nanoseconds;
  constexpr int64_t kLast = std::chrono::floor<seconds>(nanoseconds::max()).count();
  constexpr int64_t kFirst = std::chrono::ceil<seconds>(nanoseconds::min()).count();
  if (time.seconds >= kLast) return TimePoint::max();
  if (time.seconds < kFirst) return TimePoint::min();
  return TimePoint(seconds(time.seconds) + nanoseconds(time.nanoseconds));
}

Duration time_between(TimePoint from, TimePoint to) {
  // Halves cannot overflow.
  const Duration half = to.time_since_epoch() / 2 - from.time_since_epoch() / 2;
  constexpr Duration kMost = Duration::max() / 2;
  if (half > kMost / 2) return kMost;
  if (half < -kMost / 2) return -kMost;
  return to - from;
}

Result<Timestamp> parse_rfc3339(std::string_view text) {
  return TimeReader(text, false).read();
}
Result<Timestamp> parse_rfc3339_micro(std::string_view text) {
  return TimeReader(text, true).read();
}
std::string format_rfc3339(Timestamp time) {
  return format(time, false);
}
std::string format_rfc3339_micro(Timestamp time) {
  return format(time, true);
}

Result<Timestamp> parse_time(const json& value) {
  return from_json(value, parse_rfc3339);
}
Result<Timestamp> parse_micro_time(const json& value) {
  return from_json(value, parse_rfc3339_micro);
}
json time_to_json(Timestamp time) {
  return time.is_zero() ? json() : json(format_rfc3339(time));
}
json micro_time_to_json(Timestamp time) {
  return time.is_zero() ? json() : json(format_rfc3339_micro(time));
}

}  // namespace muster
