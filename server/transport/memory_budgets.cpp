#include "server/transport/memory_budgets.h"

#include <algorithm>

#include "api/codec/tree_memory.h"

namespace muster::server {
namespace {

constexpr size_t kMiB = 1024 * 1024;
constexpr size_t kLargestReview = 7 * kMiB;  // HttpLimits::max_body_bytes

// The request without its managedFields, a copy of it in the responder, patch and answer.
constexpr size_t kTextsOfReview = 4;

}  // namespace

MemoryBudgets budgets_of(size_t memory_limit) {
  const size_t limit = std::max(memory_limit, kLeastMemoryLimit);
  MemoryBudgets budgets;
  budgets.reviews = limit / 2;
  budgets.buffers = limit / 8;
  // A mutating review holds the object twice: in the received and in the changed form.
  budgets.review_tree = (budgets.reviews - kTextsOfReview * kLargestReview) / 2;
  budgets.conversion_tree = budgets.reviews * 3 / 8;
  return budgets;
}

size_t tree_of_review(size_t body_bytes, size_t review_tree) {
  return std::min(kTreeBytesPerByte * body_bytes, review_tree);
}

size_t memory_of_review(size_t body_bytes, size_t review_tree) {
  return 2 * tree_of_review(body_bytes, review_tree) + kTextsOfReview * body_bytes;
}

ConversionNeeds needs_of_conversion(size_t body_bytes, size_t conversion_tree) {
  // The list of a Workload's domains takes about ten times the text of its slices, and more as a tree.
  constexpr size_t kSmallTree = 6 * kMiB;
  ConversionNeeds needs;
  needs.tree = std::min(std::max(kSmallTree, 4 * kTreeBytesPerByte * body_bytes), conversion_tree);
  // An object of a few kilobytes can grow several times; a list of thousands grows by a tenth.
  needs.text = std::min(4 * body_bytes + kMiB / 2, body_bytes + 16 * kMiB);
  needs.whole = needs.tree + 3 * needs.text + 2 * body_bytes;
  return needs;
}

}  // namespace muster::server
