#include "api/requests.h"

#include <limits>

namespace muster {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();

// Bytes are shown in powers of two where that is shorter.
Quantity::Format format_of(std::string_view resource, int64_t amount) {
  const bool bytes = resource == "memory" || resource == "ephemeral-storage";
  const bool binary = (bytes && amount % 1024 == 0) || resource.starts_with("hugepages-");
  return binary ? Quantity::Format::kBinarySI : Quantity::Format::kDecimalSI;
}

}  // namespace

int64_t to_amount(std::string_view resource, const Quantity& quantity) {
  return resource == "cpu" ? quantity.saturating_milli_value() : quantity.saturating_value();
}

Quantity to_quantity(std::string_view resource, int64_t amount) {
  return resource == "cpu" ? Quantity::of_milli(amount) : Quantity::of(amount, format_of(resource, amount));
}

Requests to_requests(const ResourceList& list) {
  Requests requests;
  for (const auto& [resource, quantity] : list) requests.emplace(resource, to_amount(resource, quantity));
  return requests;
}

int64_t saturating_add(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? kMost : kLeast;
}

int64_t saturating_subtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return b < 0 ? kMost : kLeast;
}

int64_t saturating_multiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? kMost : kLeast;
}

void add(Requests& sum, const Requests& more) {
  for (const auto& [resource, amount] : more) {
    int64_t& total = sum[resource];
    total = saturating_add(total, amount);
  }
}

Requests multiply(const Requests& requests, int64_t factor) {
  Requests product;
  for (const auto& [resource, amount] : requests) product.emplace(resource, saturating_multiply(amount, factor));
  return product;
}

}  // namespace muster
