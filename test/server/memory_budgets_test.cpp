#include "server/transport/memory_budgets.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "api/codec/tree_memory.h"
#include "server/convert_handler.h"
#include "server/transport/http.h"

namespace memory_budgets_test {

using namespace muster;
using namespace muster::server;

namespace {

constexpr size_t kMiB = 1024 * 1024;
// A list of environment variables, which is as dense as real objects get (test/api/codec/tree_memory_test.cpp).
constexpr size_t kTreePerByteOfEnv = 17;

}  // namespace

TEST_CASE("Whatever review is sent, it can be served: alone it takes no more than all reviews may") {
  for (const size_t limit : {kLeastMemoryLimit, 256 * kMiB, 512 * kMiB, kDefaultMemoryLimit}) {
    CAPTURE(limit);
    const MemoryBudgets budgets = budgets_of(limit);
    CHECK(memory_of_review(HttpLimits{}.max_body_bytes, budgets.review_tree) <= budgets.reviews);
    CHECK(needs_of_conversion(3 * kMiB, budgets.conversion_tree).whole <= budgets.reviews);
    CHECK(budgets.reviews + budgets.buffers <= std::max(limit, kLeastMemoryLimit) * 5 / 8);
  }
  const MemoryBudgets budgets = budgets_of(kDefaultMemoryLimit);
  CHECK(needs_of_conversion(kMaxConversionBytes, budgets.conversion_tree).whole <= budgets.reviews);
  CHECK(budgets.reviews == HttpLimits{}.work_memory);
}

TEST_CASE("Small reviews and conversions never wait") {
  const MemoryBudgets budgets = budgets_of(kDefaultMemoryLimit);
  CHECK(memory_of_review(64 * 1024, budgets.review_tree) <= kLightMemory);
  CHECK(needs_of_conversion(32 * 1024, budgets.conversion_tree).whole <= kLightMemory);
}

TEST_CASE(
    "The largest objects that the API server takes fit: any shape at the Deployment's limit, real ones at 256 MiB") {
  const size_t both = 6 * kMiB;  // object and oldObject of an UPDATE
  CHECK(tree_of_review(both, budgets_of(kDefaultMemoryLimit).review_tree) == kTreeBytesPerByte * both);
  CHECK(tree_of_review(3 * kMiB, budgets_of(256 * kMiB).review_tree) >= 16 * 3 * kMiB);
  // What is converted was stored, and the store takes 1.5 MiB.
  CHECK(needs_of_conversion(3 * kMiB / 2, budgets_of(256 * kMiB).conversion_tree).tree >=
        kTreePerByteOfEnv * 3 * kMiB / 2);
}

TEST_CASE("A limit that is too low counts as the lowest") {
  CHECK(budgets_of(0).reviews == budgets_of(kLeastMemoryLimit).reviews);
}

}  // namespace memory_budgets_test
