// How quantities are spelled: the grammar and the suffixes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/meta/quantity.h"

namespace muster {

// A quantity's text in its pieces; all views point into it.
struct QuantityText {
  bool negative = false;
  std::string_view number;  // with sign and point, as written
  std::string_view whole;   // without leading zeros; "0" when there is nothing before the point
  std::string_view fraction;
  std::string_view suffix;
};
// nullopt when the text is not of the form of a quantity at all.
std::optional<QuantityText> split_quantity(std::string_view text);

struct QuantitySuffix {
  Quantity::Format format;
  int32_t exponent;  // of two for BinarySI, else of ten
};
std::optional<QuantitySuffix> parse_quantity_suffix(std::string_view suffix);

// The suffix for an exponent (of ten, or of two for BinarySI); empty when there is none.
std::string quantity_suffix(Quantity::Format format, int64_t exponent);

// The digits of the quotient; nullopt when there is a remainder or the number is zero.
std::optional<std::string> divide_by_1024(std::string_view digits);

}  // namespace muster
