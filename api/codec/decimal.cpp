#include "api/codec/decimal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

namespace muster {
namespace {

constexpr int64_t kMaxDigitsApart = 10'000;

int compare_int(int64_t a, int64_t b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

// |a| + |b| of two digit strings.
std::string add_digits(std::string_view a, std::string_view b) {
  std::string sum(std::max(a.size(), b.size()) + 1, '0');
  int carry = 0;
  for (size_t i = 0; i < sum.size(); ++i) {
    const int left = i < a.size() ? a[a.size() - 1 - i] - '0' : 0;
    const int right = i < b.size() ? b[b.size() - 1 - i] - '0' : 0;
    const int digit = left + right + carry;
    carry = digit / 10;
    sum[sum.size() - 1 - i] = static_cast<char>('0' + digit % 10);
  }
  return sum;
}

// |a| - |b|, where |a| is not the smaller one.
std::string subtract_digits(std::string_view a, std::string_view b) {
  std::string difference(a);
  int borrow = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const int right = i < b.size() ? b[b.size() - 1 - i] - '0' : 0;
    int digit = a[a.size() - 1 - i] - '0' - right - borrow;
    borrow = digit < 0 ? 1 : 0;
    if (digit < 0) digit += 10;
    difference[a.size() - 1 - i] = static_cast<char>('0' + digit);
  }
  return difference;
}

// digits * 10^zeros modulo 2^64; from 64 zeros on the result is 0.
uint64_t low_64_bits(std::string_view digits, int64_t zeros) {
  if (zeros >= 64) return 0;
  uint64_t value = 0;
  for (char c : digits) value = value * 10 + static_cast<uint64_t>(c - '0');
  for (int64_t i = 0; i < zeros; ++i) value *= 10;
  return value;
}

int64_t signed_bits(bool negative, uint64_t magnitude) {
  return static_cast<int64_t>(negative ? 0 - magnitude : magnitude);
}

// The result of a conversion of 10^power to 64 bits on amd64.
int64_t pow10_as_int(int64_t power) {
  if (power > 18) return std::numeric_limits<int64_t>::min();
  int64_t value = 1;
  for (int64_t i = 0; i < power; ++i) value *= 10;
  return value;
}

}  // namespace

std::string_view strip_leading_zeros(std::string_view digits) {
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

double go_pow10(int64_t exponent) {
  if (exponent > 308) return std::numeric_limits<double>::infinity();
  if (exponent < -323) return 0;
  // Both tables hold correctly rounded powers; their product is rounded once more.
  const auto exact = [](int64_t power) {
    const std::string text = "1e" + std::to_string(power);
    double value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  if (exponent >= 0) return exact(exponent / 32 * 32) * exact(exponent % 32);
  return exact(exponent / 32 * 32) / exact(-exponent % 32);
}

Decimal::Decimal(bool negative, std::string digits, int64_t exponent)
    : negative_(negative), digits_(std::move(digits)), exponent_(exponent) {
  const size_t last = digits_.find_last_not_of('0');
  if (last == std::string::npos) {
    digits_.clear();
    negative_ = false;
    exponent_ = 0;
    return;
  }
  exponent_ += static_cast<int64_t>(digits_.size() - 1 - last);
  digits_.resize(last + 1);
  digits_.erase(0, digits_.size() - strip_leading_zeros(digits_).size());
}

Decimal Decimal::of(int64_t value, int64_t exponent) {
  const auto bits = static_cast<uint64_t>(value);
  return Decimal(value < 0, std::to_string(value < 0 ? 0 - bits : bits), exponent).with_scale(-exponent);
}

Decimal Decimal::of_digits(bool negative, std::string_view digits, int64_t exponent) {
  return Decimal(negative, std::string(digits), exponent).with_scale(-exponent);
}

Decimal Decimal::with_scale(int64_t scale) const {
  Decimal copy = *this;
  copy.scale_ = scale;
  return copy;
}

Decimal Decimal::magnitude() const {
  return negative_ ? negated() : *this;
}

Decimal Decimal::negated() const {
  Decimal copy = *this;
  copy.negative_ = !negative_ && !digits_.empty();
  return copy;
}

Decimal Decimal::times_power_of_two(int power) const {
  std::string product(digits_.size() + 19, '0');
  uint64_t carry = 0;  // at most 10 * 2^60
  for (size_t i = 0; i < product.size(); ++i) {
    const auto digit = i < digits_.size() ? static_cast<unsigned>(digits_[digits_.size() - 1 - i] - '0') : 0U;
    carry += static_cast<uint64_t>(digit) << power;
    product[product.size() - 1 - i] = static_cast<char>('0' + static_cast<int>(carry % 10));
    carry /= 10;
  }
  return Decimal(negative_, std::move(product), exponent_).with_scale(scale_);
}

Decimal Decimal::rounded_up(int64_t decimals) const {
  const int64_t surplus = -decimals - exponent_;
  if (digits_.empty() || surplus <= 0) return with_scale(decimals);
  // Without trailing zeros, the removed digits were never all zero.
  const auto kept = std::max<int64_t>(static_cast<int64_t>(digits_.size()) - surplus, 0);
  const std::string_view head = std::string_view(digits_).substr(0, static_cast<size_t>(kept));
  return Decimal(negative_, add_digits(head, "1"), -decimals).with_scale(decimals);
}

int Decimal::compare(const Decimal& other) const {
  if (sign() != other.sign()) return compare_int(sign(), other.sign());
  if (sign() == 0) return 0;
  const auto size = static_cast<int64_t>(digits_.size()), other_size = static_cast<int64_t>(other.digits_.size());
  int order = compare_int(size + exponent_, other_size + other.exponent_);
  if (order == 0) order = compare_int(digits_.compare(other.digits_), 0);
  return negative_ ? -order : order;
}

Decimal Decimal::plus(const Decimal& other) const {
  const int64_t scale = std::max(scale_, other.scale_);
  if (sign() == 0) return other.with_scale(scale);
  if (other.sign() == 0) return with_scale(scale);
  const int size_order = magnitude().compare(other.magnitude());
  const Decimal& large = size_order >= 0 ? *this : other;
  const Decimal& small = size_order >= 0 ? other : *this;
  const int64_t lowest = std::min(large.exponent_, small.exponent_);
  if (std::max(large.exponent_, small.exponent_) - lowest > kMaxDigitsApart) return large.with_scale(scale);
  const auto aligned = [lowest](const Decimal& d) {
    return d.digits_ + std::string(static_cast<size_t>(d.exponent_ - lowest), '0');
  };
  const std::string a = aligned(large), b = aligned(small);
  std::string digits = large.negative_ == small.negative_ ? add_digits(a, b) : subtract_digits(a, b);
  return Decimal(large.negative_, std::move(digits), lowest).with_scale(scale);
}

Decimal Decimal::times(const Decimal& other) const {
  // Schoolbook; least significant digit first.
  std::vector<int> sums(digits_.size() + other.digits_.size(), 0);
  for (size_t i = 0; i < digits_.size(); ++i) {
    const int left = digits_[digits_.size() - 1 - i] - '0';
    int carry = 0;
    for (size_t j = 0; j < other.digits_.size() || carry != 0; ++j) {
      const int right = j < other.digits_.size() ? other.digits_[other.digits_.size() - 1 - j] - '0' : 0;
      const int sum = sums[i + j] + left * right + carry;
      sums[i + j] = sum % 10;
      carry = sum / 10;
    }
  }
  std::string digits;
  for (size_t i = sums.size(); i-- > 0;) digits += static_cast<char>('0' + sums[i]);
  return of_digits(negative_ != other.negative_, digits, exponent_ + other.exponent_);
}

int64_t Decimal::wrapped(int64_t target) const {
  if (digits_.empty()) return 0;
  const int64_t zeros = exponent_ + scale_;  // of the unscaled number in Go's type
  const int64_t surplus = scale_ - target;
  if (surplus <= 0) {
    const int64_t unscaled = signed_bits(negative_, low_64_bits(digits_, zeros));
    return static_cast<int64_t>(static_cast<uint64_t>(unscaled) * static_cast<uint64_t>(pow10_as_int(-surplus)));
  }
  const bool below_max = negative_ || compare(of(std::numeric_limits<int64_t>::max(), -scale_)) < 0;
  if (below_max && surplus < 19) {
    const int64_t unscaled = signed_bits(negative_, low_64_bits(digits_, zeros)), divisor = pow10_as_int(surplus);
    return unscaled / divisor + (unscaled % divisor != 0 ? 1 : 0);
  }
  if (zeros >= surplus) return signed_bits(negative_, low_64_bits(digits_, zeros - surplus));
  // Removes digits: rounded down, then one up, for either sign.
  const auto kept = std::max<int64_t>(static_cast<int64_t>(digits_.size()) - (surplus - zeros), 0);
  const uint64_t whole = low_64_bits(std::string_view(digits_).substr(0, static_cast<size_t>(kept)), 0);
  return signed_bits(negative_, negative_ ? whole : whole + 1);
}

int64_t Decimal::saturated(int64_t target) const {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();
  const Decimal rounded = rounded_up(target);
  if (rounded.compare(of(kMax, -target)) >= 0) return kMax;
  if (rounded.compare(of(kMin, -target)) <= 0) return kMin;
  return signed_bits(negative_, low_64_bits(rounded.digits_, rounded.exponent_ + target));
}

double Decimal::approximate() const {
  if (digits_.empty()) return 0;
  const std::string text = digits_ + "e" + std::to_string(exponent_ + scale_);
  double unscaled = std::numeric_limits<double>::infinity();
  std::from_chars(text.data(), text.data() + text.size(), unscaled);
  if (negative_) unscaled = -unscaled;
  return scale_ == 0 ? unscaled : unscaled * go_pow10(-scale_);
}

}  // namespace muster
