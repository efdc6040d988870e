#include "api/meta/readable_quantity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace muster {
namespace {

using Suffixes = std::array<const char*, 6>;
constexpr Suffixes kBinary = {"Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
constexpr Suffixes kDecimal = {"k", "M", "G", "T", "P", "E"};
// Counts below this are written in full: "1024" GPUs are never "1.024k".
constexpr double kWrittenInFull = 1e7;

// `digits` without the zeros behind the point, which is before the last `decimals` of them.
std::string trimmed(int64_t digits, int decimals) {
  int64_t one = 1;
  for (int i = 0; i < decimals; ++i) one *= 10;
  std::string rest = std::to_string(one + digits % one).substr(1);
  rest.erase(rest.find_last_not_of('0') + 1);
  return std::to_string(digits / one) + (rest.empty() ? "" : "." + rest);
}

std::string scaled(double value, double base, const Suffixes& suffixes) {
  double mantissa = value / base;
  size_t i = 0;
  for (; mantissa >= base && i + 1 < suffixes.size(); ++i) mantissa /= base;
  const int decimals = mantissa >= 1000 ? 0 : mantissa >= 100 ? 1 : mantissa >= 10 ? 2 : 3;
  constexpr std::array<double, 4> kPowers = {1, 10, 100, 1000};
  const double power = kPowers[static_cast<size_t>(decimals)];
  const double digits = std::floor(mantissa * power + 0.5);
  if (digits >= base * power && i + 1 < suffixes.size()) return "1" + std::string(suffixes[i + 1]);
  return trimmed(static_cast<int64_t>(digits), decimals) + suffixes[i];
}

bool is_bytes(std::string_view resource) {
  return resource == "memory" || resource == "ephemeral-storage" || resource == "storage" ||
         resource.starts_with("hugepages-");
}

// Beyond this a count of units fits no int64; only nonsense is so large.
constexpr double kLargest = 9e15;

std::string readable_size(std::string_view resource, double size) {
  if (resource == "cpu") {
    const auto thousandths = static_cast<int64_t>(std::floor(std::min(size, kLargest) * 1000 + 0.5));
    if (thousandths == 0) return "0";
    return thousandths < 1000 ? std::to_string(thousandths) + "m" : trimmed(thousandths, 3);
  }
  if (is_bytes(resource) && size >= 1024) return scaled(std::min(size, 0x1p+70), 1024, kBinary);
  if (!is_bytes(resource) && size >= kWrittenInFull) return scaled(std::min(size, 1e24), 1000, kDecimal);
  return std::to_string(static_cast<int64_t>(std::floor(size + 0.5)));
}

}  // namespace

std::string readable_quantity(std::string_view resource, const Quantity& quantity) {
  const std::string text = readable_size(resource, std::fabs(quantity.approximate()));
  return quantity.sign() < 0 && text != "0" ? "-" + text : text;
}

std::string readable_quantity(std::string_view resource, std::string_view text) {
  const Result<Quantity> quantity = Quantity::parse(text);
  return quantity ? readable_quantity(resource, *quantity) : std::string(text);
}

}  // namespace muster
