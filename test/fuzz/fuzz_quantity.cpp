// Quantities: whatever the text, the answer is an amount that prints, counts and
// compares consistently, or an error with a text.
#include <cmath>
#include <string>

#include "api/meta/quantity.h"
#include "test/fuzz/require.h"

namespace muster {
namespace {

// Not so where Kubernetes' own text is lossy (api/meta/quantity.h): a DecimalSI amount above
// 999 E prints without its zeros, and exponents keep only 32 bits.
bool prints_exactly(const Quantity& q) {
  const double size = std::abs(q.approximate());
  return size < 1e20 || (q.format() == Quantity::Format::kDecimalExponent && std::isfinite(size));
}

// Not so for a BinarySI amount that 1024 does not divide: it prints without a suffix ("7.8125Ki" is "8000"), and such a
// text is read as DecimalSI ("8k").
bool keeps_its_format(const Quantity& q, std::string_view printed) {
  return q.format() != Quantity::Format::kBinarySI || printed.ends_with('i');
}

void check(std::string_view text) {
  const auto parsed = Quantity::parse(text);
  if (!parsed) {
    REQUIRE_THAT(!parsed.error().message.empty());
    return;
  }
  const Quantity& q = *parsed;
  const std::string printed = q.text();
  REQUIRE_THAT(!printed.empty());
  const auto again = Quantity::parse(printed);
  REQUIRE_THAT(again.ok());
  REQUIRE_THAT(again->text() == printed || !keeps_its_format(q, printed) || !prints_exactly(q));
  REQUIRE_THAT(*again == q || !prints_exactly(q));
  REQUIRE_THAT((q.sign() < 0) == (q.saturating_milli_value() < 0));
  REQUIRE_THAT((q.sign() == 0) == (q.saturating_value() == 0));

  Quantity sum = q;
  sum += q;
  REQUIRE_THAT(sum.sign() == q.sign());
  REQUIRE_THAT(sum.compare(q) == q.sign());
  REQUIRE_THAT(!sum.text().empty());
  sum -= q;
  REQUIRE_THAT(sum == q);
  (void)q.value();
  (void)q.milli_value();
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
