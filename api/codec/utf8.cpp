#include "api/codec/utf8.h"

namespace muster {

Utf8Character read_utf8(std::string_view text) {
  constexpr Utf8Character kInvalid{false, 0, 1};
  const auto lead = static_cast<unsigned char>(text.front());
  if (lead < 0x80) return {true, lead, 1};
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return kInvalid;
  char32_t code_point = lead & (0x7fU >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return kInvalid;
    code_point = code_point << 6 | (byte & 0x3fU);
  }
  const bool over_long = (length == 3 && code_point < 0x800) || (length == 4 && code_point < 0x10000);
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (over_long || surrogate || code_point > 0x10ffff) return kInvalid;
  return {true, code_point, length};
}

size_t find_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      ++at;
      continue;
    }
    const Utf8Character c = read_utf8(text.substr(at));
    if (!c.valid) return at;
    at += c.length;
  }
  return std::string_view::npos;
}

void append_utf8(std::string& out, char32_t c) {
  const auto tail = [c](int shift) { return static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | (c >> 6));
    out += tail(0);
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | (c >> 12));
    out += tail(6);
    out += tail(0);
  } else {
    out += static_cast<char>(0xf0 | (c >> 18));
    out += tail(12);
    out += tail(6);
    out += tail(0);
  }
}

}  // namespace muster
