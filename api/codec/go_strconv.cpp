#include "api/codec/go_strconv.h"

#include <array>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/codec/utf8.h"

namespace muster {
namespace {

Failure<Error> parse_failure(std::string_view function, std::string_view text, std::string_view reason) {
  return fail("strconv." + std::string(function) + ": parsing " + go_quote(text) + ": " + std::string(reason));
}

Result<int64_t> parse_decimal(std::string_view function, std::string_view text, int bits) {
  const int64_t max = bits == 32 ? std::numeric_limits<int32_t>::max() : std::numeric_limits<int64_t>::max();
  std::string_view digits = text;
  const bool negative = !digits.empty() && digits.front() == '-';
  if (negative || (!digits.empty() && digits.front() == '+')) digits.remove_prefix(1);
  if (digits.empty()) return parse_failure(function, text, "invalid syntax");
  for (char c : digits) {
    if (c < '0' || c > '9') return parse_failure(function, text, "invalid syntax");
  }
  const uint64_t limit = static_cast<uint64_t>(max) + (negative ? 1 : 0);
  uint64_t value = 0;
  for (char c : digits) {
    const auto digit = static_cast<uint64_t>(c - '0');
    if (value > (limit - digit) / 10) return parse_failure(function, text, "value out of range");
    value = value * 10 + digit;
  }
  return static_cast<int64_t>(negative ? 0 - value : value);
}

// Letters, marks, numbers, punctuation and symbols print; blanks other than ' ',
// control, format and private characters do not.
bool is_printable(char32_t c) {
  static constexpr std::array<std::pair<char32_t, char32_t>, 19> kInvisible{{
      {0x00, 0x1f},     {0x7f, 0xa0},     {0xad, 0xad},       {0x600, 0x605},      {0x61c, 0x61c},
      {0x6dd, 0x6dd},   {0x70f, 0x70f},   {0x1680, 0x1680},   {0x180e, 0x180e},    {0x2000, 0x200f},
      {0x2028, 0x202f}, {0x205f, 0x206f}, {0x3000, 0x3000},   {0xd800, 0xf8ff},    {0xfeff, 0xfeff},
      {0xfff0, 0xfffb}, {0xfffe, 0xffff}, {0xe0000, 0xe00ff}, {0xf0000, 0x10ffff},
  }};
  for (const auto& [first, last] : kInvisible) {
    if (c >= first && c <= last) return false;
  }
  return true;
}

void append_hex(std::string& out, char32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) out += "0123456789abcdef"[(value >> shift) & 0xf];
}

void append_quoted(std::string& out, char32_t c, std::string_view bytes) {
  static constexpr std::string_view kNamed = "\a\b\f\n\r\t\v", kLetters = "abfnrtv";
  if (c == '"' || c == '\\') {
    out += '\\';
    out += bytes;
  } else if (is_printable(c)) {
    out += bytes;
  } else if (const size_t i = c < 0x20 ? kNamed.find(static_cast<char>(c)) : kNamed.npos; i != kNamed.npos) {
    out += '\\';
    out += kLetters[i];
  } else if (c < ' ' || c == 0x7f) {
    out += "\\x";
    append_hex(out, c, 2);
  } else if (c < 0x10000) {
    out += "\\u";
    append_hex(out, c, 4);
  } else {
    out += "\\U";
    append_hex(out, c, 8);
  }
}

}  // namespace

Result<int64_t> go_atoi(std::string_view text) {
  return parse_decimal("Atoi", text, 64);
}
Result<int64_t> go_parse_int(std::string_view text, int bits) {
  return parse_decimal("ParseInt", text, bits);
}

Result<uint64_t> go_parse_uint(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return parse_failure("ParseUint", text, "value out of range");
  if (error != std::errc() || end != text.data() + text.size())
    return parse_failure("ParseUint", text, "invalid syntax");
  return value;
}

Result<bool> go_parse_bool(std::string_view text) {
  for (std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return true;
  }
  for (std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return parse_failure("ParseBool", text, "invalid syntax");
}

std::string go_quote(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Character c = read_utf8(text);
    if (c.valid) {
      append_quoted(out, c.code_point, text.substr(0, c.length));
    } else {
      out += "\\x";
      append_hex(out, static_cast<unsigned char>(text.front()), 2);
    }
    text.remove_prefix(c.length);
  }
  return out + "\"";
}

std::string go_quote_ascii(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte >= 0x80) {
      out += "\\x";
      append_hex(out, byte, 2);
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string go_not_a_string(const nlohmann::json& value) {
  const std::string type = value.is_boolean() ? "bool" : value.type_name();
  return "json: cannot unmarshal " + type + " into Go value of type string";
}

}  // namespace muster
