#include "api/meta/quantity.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/decimal.h"
#include "api/meta/quantity_text.h"

namespace muster {
namespace {

using Format = Quantity::Format;

constexpr int64_t kMax = std::numeric_limits<int64_t>::max(), kMin = std::numeric_limits<int64_t>::min();
constexpr int32_t kNano = -9;
// Beyond this, a binary amount is not spelled out to find its factors of 1024.
constexpr int64_t kMaxBinaryExponent = 1'000;

Failure<Error> wrong_form() {
  return fail("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

// value * 10^power, or false if the result does not fit: `value` then has the result of Go, which multiplies at
// once for the powers between suffixes and otherwise returns 0.
bool scale_up(int64_t& value, int64_t power) {
  if (value == 0) return true;
  const bool keeps_low_bits = power <= 3 || power == 6 || power == 9;
  bool fits = value != kMin || power == 0;
  auto bits = static_cast<uint64_t>(fits ? value : 0);
  for (; power > 0 && (fits || keeps_low_bits); --power) {
    fits = !__builtin_mul_overflow(value, 10, &value) && fits;
    bits *= 10;
  }
  value = fits || keeps_low_bits ? static_cast<int64_t>(bits) : 0;
  return fits;
}

// value / 10^power, rounded away from zero.
int64_t scale_down(int64_t value, int64_t power) {
  const int64_t one = value > 0 ? 1 : -1;
  bool has_fraction = false;
  for (; power > 0 && value != 0; --power) {
    has_fraction = has_fraction || value % 10 != 0;
    value /= 10;
  }
  return has_fraction ? value + one : value;
}

// Go's string.TrimSpace.
std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlanks[] = {" ", "\t", "\n", "\v", "\f", "\r", "\xc2\x85", "\xc2\xa0"};
  for (bool again = true; again;) {
    again = false;
    for (std::string_view blank : kBlanks) {
      if (text.starts_with(blank)) {
        text.remove_prefix(blank.size());
        again = true;
      } else if (text.ends_with(blank)) {
        text.remove_suffix(blank.size());
        again = true;
      }
    }
  }
  return text;
}

// How many digits the number before a suffix can have to be counted in 64 bits.
int64_t digits_left(const QuantityText& pieces, QuantitySuffix suffix) {
  const auto whole = static_cast<int64_t>(pieces.whole.size()), fraction = static_cast<int64_t>(pieces.fraction.size());
  if (suffix.format != Format::kBinarySI) return 18 - whole - fraction;
  return pieces.fraction.empty() ? 14 - whole - suffix.exponent * 3 / 10 : -1;
}

}  // namespace

std::string_view to_text(Format format) {
  switch (format) {
    case Format::kNone:
      return "";
    case Format::kDecimalSI:
      return "DecimalSI";
    case Format::kBinarySI:
      return "BinarySI";
    case Format::kDecimalExponent:
      return "DecimalExponent";
  }
  return "";
}

Quantity Quantity::of(int64_t value, Format format) {
  Quantity q;
  q.value_ = value;
  q.format_ = format;
  return q;
}

Quantity Quantity::of_milli(int64_t value, Format format) {
  Quantity q = of(value, format);
  q.exponent_ = -3;
  return q;
}

Result<Quantity> Quantity::parse(std::string_view text) {
  if (text.empty()) return wrong_form();
  const std::optional<QuantityText> pieces = split_quantity(text);
  if (!pieces) return wrong_form();
  const std::optional<QuantitySuffix> suffix = parse_quantity_suffix(pieces->suffix);
  if (!suffix) return fail("unable to parse quantity's suffix");

  const bool binary = suffix->format == Format::kBinarySI;
  // 32-bit arithmetic that wraps, like the original's.
  const auto exponent = static_cast<int32_t>(static_cast<uint32_t>(binary ? 0 : suffix->exponent) -
                                             static_cast<uint32_t>(pieces->fraction.size()));
  if (digits_left(*pieces, *suffix) < 0 || exponent < kNano) {
    return parse_large(pieces->negative, pieces->number, suffix->exponent, suffix->format);
  }
  int64_t digits = 0;
  for (char c : pieces->whole) digits = digits * 10 + (c - '0');
  for (char c : pieces->fraction) digits = digits * 10 + (c - '0');
  const int64_t amount = binary ? digits << suffix->exponent : digits;
  Quantity q = of(pieces->negative ? -amount : amount, suffix->format);
  q.exponent_ = exponent;
  // The text is kept only if it can already be canonical; Go's implementation accepts the same texts.
  const bool has_zeros = !binary && digits != 0 && digits % 1000 == 0;
  const bool keep = binary ? (digits & 7) != 0 : exponent % 3 == 0 && !has_zeros && pieces->whole.front() != '0';
  if (keep) q.text_ = text;
  return q;
}

Result<Quantity> Quantity::parse_large(bool negative, std::string_view number, int64_t exponent, Format format) {
  if (number.front() == '-' || number.front() == '+') number.remove_prefix(1);
  std::string digits(number);
  int64_t fraction = 0;
  if (const size_t point = digits.find('.'); point != std::string::npos) {
    digits.erase(point, 1);
    fraction = static_cast<int64_t>(digits.size() - point);
  }
  if (digits.empty()) return fail("unable to parse numeric part of quantity");

  const bool binary = format == Format::kBinarySI;
  Decimal amount = Decimal::of_digits(false, digits, binary ? -fraction : exponent - fraction);
  if (binary) amount = amount.times_power_of_two(static_cast<int>(exponent));
  if (amount.sign() != 0) amount = amount.rounded_up(-kNano);
  const Decimal largest = Decimal::of(kMax, 0);
  if (binary && amount.compare(largest) > 0) amount = largest;
  // A number below one byte has no binary suffix.
  if (binary && amount.sign() > 0 && amount.compare(Decimal::of(1, 0)) < 0) format = Format::kDecimalSI;

  Quantity q = of(0, format);
  q.large_ = std::make_shared<const Decimal>(negative ? amount.negated() : amount);
  return q;
}

Result<Quantity> Quantity::from_json(const nlohmann::json& value) {
  if (value.is_null()) return Quantity();
  if (const auto* text = value.get_ptr<const std::string*>()) return parse(trim(*text));
  if (!value.is_number()) return wrong_form();
  return parse(value.dump());
}

std::string Quantity::text() const {
  if (!text_.empty()) return text_;
  if (is_zero()) return "0";
  const Decimal amount = to_decimal();
  Format format = format_ == Format::kNone ? Format::kDecimalExponent : format_;
  if (format == Format::kBinarySI) {
    const bool small = amount.magnitude().compare(Decimal::of(1024, 0)) < 0;
    if (small || !amount.is_integer()) format = Format::kDecimalSI;
    if (amount.exponent() > kMaxBinaryExponent) format = Format::kDecimalExponent;
  }
  const std::string sign = amount.sign() < 0 ? "-" : "";
  std::string digits = amount.digits();
  if (format == Format::kBinarySI) {
    digits.append(static_cast<size_t>(amount.exponent()), '0');
    int64_t exponent = 0;
    while (std::optional<std::string> quotient = divide_by_1024(digits)) {
      digits = *std::move(quotient);
      exponent += 10;
    }
    return sign + digits + quantity_suffix(format, exponent);
  }
  const int64_t surplus = ((amount.exponent() % 3) + 3) % 3;  // suffixes have steps of three
  digits.append(static_cast<size_t>(surplus), '0');
  return sign + digits + quantity_suffix(format, amount.exponent() - surplus);
}

nlohmann::json Quantity::to_json() const {
  return text();
}

int64_t Quantity::small_scaled(int64_t target, bool saturate) const {
  const int64_t power = exponent_ + target;
  if (power < 0) return scale_down(value_, -power);
  int64_t result = value_;
  if (scale_up(result, power) || !saturate) return result;
  return value_ > 0 ? kMax : kMin;
}

int64_t Quantity::value() const {
  return large_ ? large_->wrapped(0) : small_scaled(0, false);
}
int64_t Quantity::milli_value() const {
  return large_ ? large_->wrapped(3) : small_scaled(3, false);
}
int64_t Quantity::saturating_value() const {
  return large_ ? large_->saturated(0) : small_scaled(0, true);
}
int64_t Quantity::saturating_milli_value() const {
  return large_ ? large_->saturated(3) : small_scaled(3, true);
}

double Quantity::approximate() const {
  if (large_) return large_->approximate();
  const auto base = static_cast<double>(value_);
  return exponent_ == 0 || value_ == 0 ? base : base * go_pow10(exponent_);
}

int Quantity::sign() const {
  return large_ ? large_->sign() : value_ > 0 ? 1 : value_ < 0 ? -1 : 0;
}

Decimal Quantity::to_decimal() const {
  return large_ ? *large_ : Decimal::of(value_, exponent_);
}

int Quantity::compare(const Quantity& other) const {
  if (!large_ && !other.large_ && exponent_ == other.exponent_) {
    return value_ < other.value_ ? -1 : value_ > other.value_ ? 1 : 0;
  }
  return to_decimal().compare(other.to_decimal());
}

// Adds in 64 bits; if the sum does not fit, it returns false and changes nothing.
bool Quantity::add_small(int64_t value, int32_t exponent) {
  if (value == 0) return true;
  if (value_ == 0) {
    value_ = value;
    exponent_ = exponent;
    return true;
  }
  int64_t mine = value_;
  const int32_t common = std::min(exponent_, exponent);
  if (!scale_up(mine, int64_t{exponent_} - common) || !scale_up(value, int64_t{exponent} - common)) return false;
  if (__builtin_add_overflow(mine, value, &mine)) return false;
  value_ = mine;
  exponent_ = common;
  return true;
}

Quantity& Quantity::operator+=(const Quantity& other) {
  text_.clear();
  if (is_zero()) format_ = other.format_;
  if (!large_ && !other.large_ && add_small(other.value_, other.exponent_)) return *this;
  large_ = std::make_shared<const Decimal>(to_decimal().plus(other.to_decimal()));
  return *this;
}

Quantity& Quantity::operator-=(const Quantity& other) {
  text_.clear();
  if (is_zero()) format_ = other.format_;
  const auto negated = static_cast<int64_t>(0 - static_cast<uint64_t>(other.value_));
  if (!large_ && !other.large_ && add_small(negated, other.exponent_)) return *this;
  large_ = std::make_shared<const Decimal>(to_decimal().plus(other.to_decimal().negated()));
  return *this;
}

Quantity Quantity::times(const Quantity& factor) const {
  Quantity product;
  product.format_ = format_;
  product.large_ = std::make_shared<const Decimal>(to_decimal().times(factor.to_decimal()));
  return product;
}

}  // namespace muster
