#include "api/codec/yaml_scalar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/utf8.h"
#include "base/ascii.h"
#include "base/encoding.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool is_sign(char c) {
  return c == '+' || c == '-';
}

template <size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

constexpr std::array<std::string_view, 11> kTrue{"y",    "Y",    "yes", "Yes", "YES", "true",
                                                 "True", "TRUE", "on",  "On",  "ON"};
constexpr std::array<std::string_view, 11> kFalse{"n",     "N",     "no",  "No",  "NO", "false",
                                                  "False", "FALSE", "off", "Off", "OFF"};
constexpr std::array<std::string_view, 5> kNull{"", "~", "null", "Null", "NULL"};
constexpr std::array<std::string_view, 3> kNan{".nan", ".NaN", ".NAN"};
constexpr std::array<std::string_view, 6> kInf{".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"};
constexpr std::array<std::string_view, 3> kMinusInf{"-.inf", "-.Inf", "-.INF"};

std::optional<json> lookup(std::string_view text) {
  // Most text starts with a letter that no word has.
  if (!text.empty() && std::string_view("yYnNtTfFoO~.+-").find(text.front()) == text.npos) return std::nullopt;
  if (is_one_of(text, kTrue)) return json(true);
  if (is_one_of(text, kFalse)) return json(false);
  if (is_one_of(text, kNull)) return json();
  if (is_one_of(text, kNan)) return json(std::numeric_limits<double>::quiet_NaN());
  if (is_one_of(text, kInf)) return json(kInfinity);
  if (is_one_of(text, kMinusInf)) return json(-kInfinity);
  return std::nullopt;
}

// 0x1f, 0b11, 0o17, 017 and 15, with a sign; a positive one can have 64 bits.
std::optional<json> parse_integer(std::string_view text) {
  const bool has_sign = !text.empty() && is_sign(text.front());
  const bool negative = has_sign && text.front() == '-';
  if (has_sign) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text.front() == '0') {
    const char letter = static_cast<char>(text[1] | 0x20);
    base = letter == 'x' ? 16 : letter == 'b' ? 2 : 8;
    text.remove_prefix(letter == 'x' || letter == 'b' || letter == 'o' ? 2 : 1);
  }
  uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end) return std::nullopt;
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  if (negative) {
    if (value > kMax + 1) return std::nullopt;
    return json(static_cast<int64_t>(0 - value));
  }
  if (value <= kMax) return json(static_cast<int64_t>(value));
  return has_sign ? std::nullopt : std::optional<json>(value);
}

// Digits with a decimal point and an exponent; not hexadecimal, and no words.
std::optional<double> parse_float(std::string_view text) {
  std::string_view rest = text;
  const auto skip_sign = [&rest] {
    if (!rest.empty() && is_sign(rest.front())) rest.remove_prefix(1);
  };
  const auto skip_digits = [&rest] {
    const auto count = static_cast<size_t>(std::find_if_not(rest.begin(), rest.end(), is_digit) - rest.begin());
    rest.remove_prefix(count);
    return count;
  };
  skip_sign();
  size_t digits = skip_digits();
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    digits += skip_digits();
  }
  if (digits == 0) return std::nullopt;
  if (!rest.empty() && (rest.front() | 0x20) == 'e') {
    rest.remove_prefix(1);
    skip_sign();
    if (skip_digits() == 0) return std::nullopt;
  }
  if (!rest.empty()) return std::nullopt;
  if (text.front() == '+') text.remove_prefix(1);
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) {
    // A number that is too small is 0; a number that is too large stays text.
    const size_t e = text.find_first_of("eE");
    const bool tiny = e == std::string_view::npos ? text.find_first_not_of("-0") == text.find('.') : text[e + 1] == '-';
    return tiny ? std::optional(0.0) : std::nullopt;
  }
  return value;
}

// A float with a whole value becomes an integer in its way through JSON text: 1e3 is 1000. Its digits are the
// digits of the shortest text for it, filled up with zeros.
json float_value(double value) {
  if (std::trunc(value) != value || std::abs(value) >= 1e21) return value;
  std::array<char, 32> buffer;
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(value), std::chars_format::scientific).ptr;
  const std::string_view text(buffer.data(), static_cast<size_t>(end - buffer.data()));
  const size_t e = text.find('e');
  std::string digits(text.substr(0, e));
  std::erase(digits, '.');
  size_t exponent = 0;
  std::from_chars(text.data() + e + 2, end, exponent);
  if (exponent + 1 > digits.size()) digits.resize(exponent + 1, '0');
  const std::optional<json> integer = parse_integer((value < 0 ? "-" : "") + digits);
  return integer ? *integer : json(value);
}

// In a number that starts with a decimal point, underscores are allowed between digits only.
std::string without_underscores(std::string_view text) {
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] != '_' || !between) digits += text[i];
  }
  return digits;
}

json resolve_plain(std::string_view text) {
  if (std::optional<json> known = lookup(text)) return *std::move(known);
  const char first = text.front();
  if (first == '.') {
    if (const std::optional<double> value = parse_float(without_underscores(text))) return float_value(*value);
  } else if (is_digit(first) || is_sign(first)) {
    std::string digits(text);
    std::erase(digits, '_');
    if (std::optional<json> value = parse_integer(digits)) return *std::move(value);
    if (const std::optional<double> value = parse_float(digits)) return float_value(*value);
  }
  return json(std::string(text));
}

size_t count_digits(std::string_view text) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_digit) - text.begin());
}

// 2001-1-1, alone or with a time behind it.
bool looks_like_date(std::string_view text) {
  std::array<unsigned, 3> parts{};
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && (text.empty() || text.front() != '-')) return false;
    if (i > 0) text.remove_prefix(1);
    const size_t digits = count_digits(text);
    if (i == 0 ? digits != 4 : digits < 1 || digits > 2) return false;
    std::from_chars(text.data(), text.data() + digits, parts[i]);
    text.remove_prefix(digits);
  }
  if (parts[1] < 1 || parts[1] > 12 || parts[2] < 1 || parts[2] > 31) return false;
  return text.empty() || std::string_view("Tt ").find(text.front()) != std::string_view::npos;
}

// 1:30 and -190:20:30.15, which other parsers read as numbers of base 60.
bool looks_like_base_60(std::string_view text) {
  if (!text.empty() && is_sign(text.front())) text.remove_prefix(1);
  if (text.empty() || !is_digit(text.front())) return false;
  text.remove_prefix(std::min(text.find_first_not_of("0123456789_"), text.size()));
  if (text.empty() || text.front() != ':') return false;
  while (!text.empty() && text.front() == ':') {
    text.remove_prefix(1);
    const size_t digits = count_digits(text);
    if (digits == 0 || digits > 2 || (digits == 2 && text.front() > '5')) return false;
    text.remove_prefix(digits);
  }
  if (!text.empty() && text.front() == '.') text.remove_prefix(1);
  return text.find_first_not_of("0123456789_") == std::string_view::npos;
}

// With the fewest digits, and an exponent below 1e-4 and from 1e6 on, as Go prints.
template <class Float>
std::string shortest_text(Float value) {
  const Float size = std::abs(value);
  const bool scientific = size != 0 && (size < Float(1e-4) || size >= Float(1e6));
  std::array<char, 64> buffer;
  const auto form = scientific ? std::chars_format::scientific : std::chars_format::fixed;
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, form).ptr};
}

Result<json> resolve_binary(std::string_view text) {
  std::string packed(text);
  std::erase_if(packed, [](char c) { return c == '\n' || c == '\r'; });
  auto bytes = base64_decode(packed);
  if (!bytes) return fail("!!binary value contains invalid base64 data");
  if (find_invalid_utf8(*bytes) != std::string_view::npos) {
    return fail("!!binary value is not text: leave out the tag to keep it in base64");
  }
  return json(*bytes);
}

bool has_type(const json& value, std::string_view type, std::string_view text) {
  if (type == "bool") return value.is_boolean();
  if (type == "int") return value.is_number_integer();
  if (type == "float") return value.is_number();
  if (type == "null") return value.is_null();
  return type == "timestamp" && looks_like_date(text);
}

}  // namespace

Result<json> resolve_yaml_scalar(std::string_view text, bool plain, std::string_view tag) {
  if (tag.empty()) return plain ? resolve_plain(text) : json(std::string(text));
  const bool standard = tag.starts_with(kTagPrefix);
  const std::string_view type = standard ? tag.substr(kTagPrefix.size()) : tag;
  if (standard && type == "binary") return resolve_binary(text);
  constexpr std::array<std::string_view, 5> kTyped{"bool", "int", "float", "null", "timestamp"};
  if (!standard || !is_one_of(type, kTyped)) return json(std::string(text));
  json value = resolve_plain(text);
  if (!has_type(value, type, text)) {
    return fail("cannot read `" + std::string(text) + "` as !!" + std::string(type));
  }
  return value;
}

Result<std::string> yaml_key_text(const json& key) {
  if (const auto* text = key.get_ptr<const std::string*>()) return *text;
  if (key.is_boolean()) return std::string(key.get<bool>() ? "true" : "false");
  if (key.is_number_integer()) return key.dump();
  if (!key.is_number()) return fail("a key must be text, a number or a boolean, not " + std::string(key.type_name()));
  // Go prints such keys with the precision of 32 bits.
  return yaml_float_text(static_cast<float>(key.get<double>()));
}

std::string yaml_float_text(double value) {
  if (std::isnan(value)) return ".nan";
  if (std::isinf(value)) return value > 0 ? ".inf" : "-.inf";
  return shortest_text(value);
}

std::string yaml_float_text(float value) {
  if (!std::isfinite(value)) return yaml_float_text(static_cast<double>(value));
  return shortest_text(value);
}

bool needs_yaml_quotes(std::string_view text) {
  // As a key, the first means a merge; the second is YAML 1.1's "value".
  if (text == "<<" || text == "=") return true;
  return !resolve_plain(text).is_string() || looks_like_date(text) || looks_like_base_60(text);
}

}  // namespace muster
