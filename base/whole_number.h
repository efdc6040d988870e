// Numbers in labels, annotations, flags and headers: the whole text is the number.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

namespace muster {

// The number at the start of the text, which is taken off; nullopt: the text begins with none.
template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

// nullopt for anything but digits with an optional minus that fit.
template <class Number>
std::optional<Number> whole_number(std::string_view text) {
  const auto value = take_number<Number>(text);
  return text.empty() ? value : std::nullopt;
}

// "0.5" or "1e3"; nullopt for infinity and what is no number.
inline std::optional<double> finite_number(std::string_view text) {
  const auto value = whole_number<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace muster
