#include "commands/terminal/escape.h"

#include "api/codec/utf8.h"

namespace muster::commands {

std::string on_one_line(std::string_view text) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::string shown;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f)
      shown += c;
    else
      shown.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
  }
  return shown;
}

std::string escape_xml(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const Utf8Character character = read_utf8(text);
    const char32_t point = character.valid ? character.code_point : 0;
    const bool allowed =
        point == '\t' || point == '\n' || point == '\r' || (point >= 0x20 && point != 0xfffe && point != 0xffff);
    if (!allowed)
      append_utf8(escaped, 0xfffd);
    else if (point == '&')
      escaped += "&amp;";
    else if (point == '<')
      escaped += "&lt;";
    else if (point == '>')
      escaped += "&gt;";
    else if (point == '"')
      escaped += "&quot;";
    else if (point < 0x20)
      escaped += "&#" + std::to_string(static_cast<unsigned>(point)) + ";";
    else
      escaped.append(text.substr(0, character.length));
    text.remove_prefix(character.length);
  }
  return escaped;
}

}  // namespace muster::commands
