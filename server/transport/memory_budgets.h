// What can take how much of the memory that muster has, worked out once from its limit.
//
//   limit of the container
//   = 1/2  reviews that are being worked on: texts, trees, answers (HttpLimits::work_memory)
//   + 1/8  requests and answers in the buffers of connections (HttpLimits::max_buffered_bytes)
//   + 3/8  the rest: kLightMemory for each worker's small reviews, some 12 KiB for each
//          connection, the program, and what it knows of the cluster
//
// docs/configuration.md ("Memory") has the sums.
#pragma once

#include <cstddef>

namespace muster::server {

// Where there is no limit, and what the Deployment has.
inline constexpr size_t kDefaultMemoryLimit = size_t{1024} * 1024 * 1024;
// With less, objects of 1.5 MiB, which the API server stores, would not pass.
inline constexpr size_t kLeastMemoryLimit = size_t{192} * 1024 * 1024;

struct MemoryBudgets {
  size_t reviews = 0;
  size_t buffers = 0;
  size_t review_tree = 0;      // of one AdmissionReview as a JSON tree
  size_t conversion_tree = 0;  // of one object that is converted
};

// A limit below kLeastMemoryLimit counts as that.
MemoryBudgets budgets_of(size_t memory_limit);

// The most that a review takes, from the size of its body; for Route::memory.
size_t memory_of_review(size_t body_bytes, size_t review_tree);
// How much of it is the tree, with which the review is read.
size_t tree_of_review(size_t body_bytes, size_t review_tree);

struct ConversionNeeds {
  size_t tree = 0;  // of one object, as it came and as it goes
  size_t text = 0;  // of the answer
  size_t whole = 0;
};
ConversionNeeds needs_of_conversion(size_t body_bytes, size_t conversion_tree);

}  // namespace muster::server
