#include "kube/transport/warning_header.h"

#include <algorithm>

namespace muster::kube {
namespace {

void skip(std::string_view& text, std::string_view characters) {
  text.remove_prefix(std::min(text.find_first_not_of(characters), text.size()));
}

// Up to the next blank; empty at the end.
std::string_view take_word(std::string_view& text) {
  skip(text, " \t,");
  const size_t end = std::min(text.find_first_of(" \t"), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  skip(text, " \t");
  return word;
}

// Reads a quoted string, in which a backslash protects the next character. False if there is no such string.
bool take_quoted(std::string_view& text, std::string& taken) {
  if (!text.starts_with('"')) return false;
  taken.clear();
  for (size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '"') {
      text.remove_prefix(i + 1);
      return true;
    }
    if (text[i] == '\\' && ++i == text.size()) break;
    taken += text[i];
  }
  return false;
}

}  // namespace

std::vector<std::string> parse_warnings(std::string_view value) {
  std::vector<std::string> texts;
  std::string text, date;
  while (true) {
    const std::string_view code = take_word(value);
    const std::string_view agent = take_word(value);
    if (code.empty() || agent.empty() || !take_quoted(value, text)) return texts;
    if (code == "299" && !text.empty()) texts.push_back(text);
    skip(value, " \t");
    take_quoted(value, date);
  }
}

}  // namespace muster::kube
