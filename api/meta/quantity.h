// Kubernetes' resource.Quantity: "500m", "1Gi", "1e3" (apimachinery pkg/api/resource).
//
// Exact: 64-bit integers with a decimal exponent, and decimals of any size where that
// is not enough; no floating point in anything that is counted. What Kubernetes does
// with numbers that are too large is reproduced where its users see it (text, value,
// milli_value); quota is counted with the saturating variants.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

class Decimal;

class Quantity {
 public:
  enum class Format { kNone, kDecimalSI, kBinarySI, kDecimalExponent };

  // Zero without a format, as a JSON null is read.
  Quantity() = default;
  static Quantity of(int64_t value, Format format = Format::kDecimalSI);
  static Quantity of_milli(int64_t value, Format format = Format::kDecimalSI);

  // More than nine decimals are rounded up. BinarySI beyond 2^63-1 becomes 2^63-1.
  static Result<Quantity> parse(std::string_view text);
  // A string or a number of a JSON object; null is zero.
  static Result<Quantity> from_json(const nlohmann::json& value);

  // As Kubernetes prints it: the text that was parsed where that counts as canonical,
  // else a mantissa and the largest suffix that is exact. Above 999 E, where there is no
  // suffix, a DecimalSI quantity loses its zeros: 10^21 prints as "1", there as here.
  std::string text() const;
  nlohmann::json to_json() const;

  // Whole units and thousandths, fractions rounded up; what does not fit 64 bits wraps
  // or becomes 0, exactly as in Go.
  int64_t value() const;
  int64_t milli_value() const;
  // The same for counting: rounded away from zero, the nearest end of the range when too large.
  int64_t saturating_value() const;
  int64_t saturating_milli_value() const;
  // For metrics and display only.
  double approximate() const;

  int sign() const;
  bool is_zero() const { return sign() == 0; }
  Format format() const { return format_; }

  // By value: "1" equals "1000m".
  int compare(const Quantity& other) const;
  bool operator==(const Quantity& other) const { return compare(other) == 0; }
  std::weak_ordering operator<=>(const Quantity& other) const { return compare(other) <=> 0; }

  // The format is kept, unless this is zero: then it becomes the other's.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  // Exact, in this one's format.
  Quantity times(const Quantity& factor) const;

 private:
  static Result<Quantity> parse_large(bool negative, std::string_view number, int64_t exponent, Format format);
  Decimal to_decimal() const;
  bool add_small(int64_t value, int32_t exponent);
  int64_t small_scaled(int64_t target, bool saturate) const;

  int64_t value_ = 0;  // value_ * 10^exponent_, while large_ is empty
  int32_t exponent_ = 0;
  Format format_ = Format::kNone;
  std::shared_ptr<const Decimal> large_;  // immutable, shared by copies
  std::string text_;                      // the canonical text that was parsed, or empty
};

// "DecimalSI", "BinarySI", "DecimalExponent"; empty for none.
std::string_view to_text(Quantity::Format format);

}  // namespace muster
