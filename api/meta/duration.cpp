#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/go_strconv.h"
#include "api/meta/time.h"
#include "base/ascii.h"

namespace muster {
namespace {

constexpr uint64_t kLimit = uint64_t{1} << 63;

std::optional<uint64_t> nanoseconds_of(std::string_view unit) {
  if (unit == "ns") return 1;
  if (unit == "us" || unit == "\u00b5s" || unit == "\u03bcs") return 1'000;
  if (unit == "ms") return 1'000'000;
  if (unit == "s") return 1'000'000'000;
  if (unit == "m") return 60'000'000'000;
  if (unit == "h") return 3'600'000'000'000;
  return std::nullopt;
}

// Digits before the point; nullopt beyond 2^63.
std::optional<uint64_t> take_integer(std::string_view& rest) {
  uint64_t value = 0;
  for (; !rest.empty() && is_digit(rest.front()); rest.remove_prefix(1)) {
    if (value > kLimit / 10) return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(rest.front() - '0');
    if (value > kLimit) return std::nullopt;
  }
  return value;
}

// Digits after the point as value / scale; digits that no longer fit are dropped.
struct Fraction {
  uint64_t value = 0;
  double scale = 1;
};
Fraction take_fraction(std::string_view& rest) {
  Fraction fraction;
  bool full = false;
  for (; !rest.empty() && is_digit(rest.front()); rest.remove_prefix(1)) {
    full = full || fraction.value > (kLimit - 1) / 10;
    if (full) continue;
    fraction.value = fraction.value * 10 + static_cast<uint64_t>(rest.front() - '0');
    fraction.scale *= 10;
  }
  return fraction;
}

// One part such as "1.5h". The double and its rounding are the same as in Go.
Result<uint64_t> take_term(std::string_view& rest, std::string_view text) {
  const auto invalid = [text] { return fail("time: invalid duration " + go_quote_ascii(text)); };
  const size_t before = rest.size();
  const std::optional<uint64_t> whole = take_integer(rest);
  if (!whole) return invalid();
  bool has_digits = rest.size() != before;
  Fraction fraction;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    const size_t after_point = rest.size();
    fraction = take_fraction(rest);
    has_digits = has_digits || rest.size() != after_point;
  }
  if (!has_digits) return invalid();

  const std::string_view name = rest.substr(0, rest.find_first_of(".0123456789"));
  if (name.empty()) return fail("time: missing unit in duration " + go_quote_ascii(text));
  rest.remove_prefix(name.size());
  const std::optional<uint64_t> unit = nanoseconds_of(name);
  if (!unit) return fail("time: unknown unit " + go_quote_ascii(name) + " in duration " + go_quote_ascii(text));
  if (*whole > kLimit / *unit) return invalid();
  uint64_t value = *whole * *unit;
  if (fraction.value > 0) {
    value += static_cast<uint64_t>(static_cast<double>(fraction.value) * (static_cast<double>(*unit) / fraction.scale));
    if (value > kLimit) return invalid();
  }
  return value;
}

// "1.5" of 1500 with three decimals.
std::string decimal(uint64_t value, int decimals) {
  std::string fraction;
  for (int i = 0; i < decimals; ++i, value /= 10) {
    if (!fraction.empty() || value % 10 != 0) fraction.insert(fraction.begin(), static_cast<char>('0' + value % 10));
  }
  return std::to_string(value) + (fraction.empty() ? "" : "." + fraction);
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  std::string_view rest = text;
  const bool negative = !rest.empty() && rest.front() == '-';
  if (negative || (!rest.empty() && rest.front() == '+')) rest.remove_prefix(1);
  if (rest == "0") return Duration::zero();
  const auto invalid = [text] { return fail("time: invalid duration " + go_quote_ascii(text)); };
  if (rest.empty()) return invalid();
  uint64_t total = 0;
  while (!rest.empty()) {
    const Result<uint64_t> term = take_term(rest, text);
    if (!term) return fail_with(term.error());
    total += *term;
    if (total > kLimit) return invalid();
  }
  if (negative) return Duration(static_cast<int64_t>(0 - total));
  if (total == kLimit) return invalid();
  return Duration(static_cast<int64_t>(total));
}

Result<Duration> parse_duration_json(const nlohmann::json& value) {
  if (value.is_null()) return parse_duration("");
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr) return fail(go_not_a_string(value));
  return parse_duration(*text);
}

std::string format_duration(Duration duration) {
  const bool negative = duration.count() < 0;
  const auto signed_count = static_cast<uint64_t>(duration.count());
  const uint64_t count = negative ? 0 - signed_count : signed_count;
  const std::string sign = negative ? "-" : "";
  if (count == 0) return "0s";
  if (count < 1'000) return sign + std::to_string(count) + "ns";
  if (count < 1'000'000) return sign + decimal(count, 3) + "\u00b5s";
  if (count < 1'000'000'000) return sign + decimal(count, 6) + "ms";
  const uint64_t total_minutes = count / 60'000'000'000;
  const std::string rest = decimal(count % 60'000'000'000, 9) + "s";
  if (total_minutes == 0) return sign + rest;
  if (total_minutes < 60) return sign + std::to_string(total_minutes) + "m" + rest;
  return sign + std::to_string(total_minutes / 60) + "h" + std::to_string(total_minutes % 60) + "m" + rest;
}

}  // namespace muster
