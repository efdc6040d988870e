#include "base/shell_word.h"

#include <algorithm>

namespace muster {

std::optional<std::string> shell_word(std::string_view text) {
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (text.empty() || !std::all_of(text.begin(), text.end(), printable)) return std::nullopt;
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=@%+,";
  // A word that begins with "=" is the path of a command in zsh.
  if (text.find_first_not_of(kPlain) == std::string_view::npos && text.front() != '=') return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

}  // namespace muster
