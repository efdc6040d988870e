// Exact decimal numbers of any size, for the few quantities that do not fit 64 bits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace muster {

// sign * digits * 10^exponent, kept without trailing zeros, so that a huge exponent
// costs nothing. `scale` is bookkeeping only: with how many decimals Kubernetes' own
// arithmetic would hold the number, which decides how its 64-bit results wrap.
class Decimal {
 public:
  Decimal() = default;
  static Decimal of(int64_t value, int64_t exponent);
  // `digits` are decimal digits, leading and trailing zeros allowed.
  static Decimal of_digits(bool negative, std::string_view digits, int64_t exponent);

  int sign() const { return digits_.empty() ? 0 : negative_ ? -1 : 1; }
  int64_t scale() const { return scale_; }
  Decimal with_scale(int64_t scale) const;
  Decimal magnitude() const;
  Decimal negated() const;
  // Times 2^power, power at most 60.
  Decimal times_power_of_two(int power) const;
  // Rounded away from zero to this number of decimals, which becomes the scale.
  Decimal rounded_up(int64_t decimals) const;

  int compare(const Decimal& other) const;
  // Exact unless the operands are more than 10,000 digits apart: then the sum is the
  // larger one, where Go would fill its memory.
  Decimal plus(const Decimal& other) const;
  Decimal times(const Decimal& other) const;

  // digits * 10^exponent with the largest exponent, both as text and number.
  const std::string& digits() const { return digits_; }
  int64_t exponent() const { return exponent_; }
  bool is_integer() const { return exponent_ >= 0 || digits_.empty(); }

  // Go's scaledValue: the number times 10^target, rounded up in Go's way and cut to
  // its low 64 bits.
  int64_t wrapped(int64_t target) const;
  // The same rounded away from zero; the nearest end of the range when it does not fit.
  int64_t saturated(int64_t target) const;
  double approximate() const;

 private:
  Decimal(bool negative, std::string digits, int64_t exponent);

  bool negative_ = false;
  std::string digits_;  // most significant first; empty for zero
  int64_t exponent_ = 0;
  int64_t scale_ = 0;
};

// Digits without their leading zeros.
std::string_view strip_leading_zeros(std::string_view digits);

// 10^exponent as Go's math.Pow10 computes it: infinite above 308, 0 below -323.
double go_pow10(int64_t exponent);

}  // namespace muster
