// Numbers in labels, annotations, flags and headers: the whole text is the number.
#pragma once

#include <charconv>
#include <cmath>
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

// The number at the start of the text, which is taken off; nullopt: the text begins with none.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// "0.5" or "1e3"; nullopt for infinity and what is no number.
inline std::optional<double> finite_number(std::string_view text) {
  const auto value = take_number<double>(text);
  return value && text.empty() && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace muster
