// Letters and digits of ASCII, whatever the locale is: names of HTTP, DNS and Kubernetes know no others.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace muster {

constexpr char small_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

inline std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(), small_letter);
  return small;
}

}  // namespace muster
