#include "api/meta/quantity_text.h"

#include <algorithm>
#include <array>

#include "api/codec/decimal.h"
#include "api/codec/go_strconv.h"

namespace muster {
namespace {

using Format = Quantity::Format;

struct KnownSuffix {
  std::string_view text;
  Format format;
  int32_t exponent;
};
constexpr std::array<KnownSuffix, 16> kSuffixes{{
    {"n", Format::kDecimalSI, -9},
    {"u", Format::kDecimalSI, -6},
    {"m", Format::kDecimalSI, -3},
    {"", Format::kDecimalSI, 0},
    {"k", Format::kDecimalSI, 3},
    {"M", Format::kDecimalSI, 6},
    {"G", Format::kDecimalSI, 9},
    {"T", Format::kDecimalSI, 12},
    {"P", Format::kDecimalSI, 15},
    {"E", Format::kDecimalSI, 18},
    {"Ki", Format::kBinarySI, 10},
    {"Mi", Format::kBinarySI, 20},
    {"Gi", Format::kBinarySI, 30},
    {"Ti", Format::kBinarySI, 40},
    {"Pi", Format::kBinarySI, 50},
    {"Ei", Format::kBinarySI, 60},
}};

size_t count_of(std::string_view text, std::string_view characters) {
  return std::min(text.find_first_not_of(characters), text.size());
}

constexpr std::string_view kDigits = "0123456789";

}  // namespace

std::optional<QuantityText> split_quantity(std::string_view text) {
  QuantityText pieces;
  pieces.negative = !text.empty() && text.front() == '-';
  size_t at = !text.empty() && (text.front() == '-' || text.front() == '+') ? 1 : 0;
  at += count_of(text.substr(at), "0");
  const size_t whole = count_of(text.substr(at), kDigits);
  pieces.whole = whole > 0 ? text.substr(at, whole) : "0";
  at += whole;
  if (at < text.size() && text[at] == '.') {
    ++at;
    pieces.fraction = text.substr(at, count_of(text.substr(at), kDigits));
    at += pieces.fraction.size();
  }
  pieces.number = text.substr(0, at);
  pieces.suffix = text.substr(at);

  size_t end = count_of(pieces.suffix, "eEinumkKMGTP");
  if (end < pieces.suffix.size() && (pieces.suffix[end] == '-' || pieces.suffix[end] == '+')) ++end;
  end += count_of(pieces.suffix.substr(end), kDigits);
  if (end != pieces.suffix.size()) return std::nullopt;
  return pieces;
}

std::optional<QuantitySuffix> parse_quantity_suffix(std::string_view suffix) {
  for (const KnownSuffix& known : kSuffixes) {
    if (suffix == known.text) return QuantitySuffix{known.format, known.exponent};
  }
  if (suffix.size() < 2 || (suffix.front() != 'e' && suffix.front() != 'E')) return std::nullopt;
  const Result<int64_t> exponent = go_parse_int(suffix.substr(1));
  if (!exponent) return std::nullopt;
  // Kubernetes keeps the low 32 bits.
  return QuantitySuffix{Format::kDecimalExponent, static_cast<int32_t>(static_cast<uint32_t>(*exponent))};
}

std::string quantity_suffix(Format format, int64_t exponent) {
  if (format == Format::kDecimalExponent) return exponent == 0 ? "" : "e" + std::to_string(exponent);
  for (const KnownSuffix& known : kSuffixes) {
    if (known.format == format && known.exponent == exponent) return std::string(known.text);
  }
  return "";
}

std::optional<std::string> divide_by_1024(std::string_view digits) {
  std::string quotient;
  int remainder = 0;
  for (char c : digits) {
    remainder = remainder * 10 + (c - '0');
    quotient += static_cast<char>('0' + remainder / 1024);
    remainder %= 1024;
  }
  const std::string_view significant = strip_leading_zeros(quotient);
  if (remainder != 0 || significant.empty()) return std::nullopt;
  return std::string(significant);
}

}  // namespace muster
