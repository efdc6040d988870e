// Numbers in labels and annotations.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace muster {

// nullopt for anything but digits with an optional minus that fit.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace muster
