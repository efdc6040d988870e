// POST /convert: ConversionReviews, answered before anything else of muster is ready,
// since nothing of the cluster can be read in a version that is not stored without it.
//
// How large a review gets: the API server (1.36) converts what it reads from its storage
// object by object, also for a LIST, so that nearly every review holds one object of at
// most 3 MiB. It can send a whole list at once, though, hence the limit of this path,
// which is that of a list of 10,000 Workloads. How much an answer can hold and an object take
// follows from the size of the review (server/transport/memory_budgets.h).
#pragma once

#include <string_view>

#include "server/counted_review.h"
#include "server/transport/memory_budgets.h"

namespace muster::server {

inline constexpr std::string_view kConvertPath = "/convert";
inline constexpr size_t kMaxConversionBytes = 48 * 1024 * 1024;

// Thread-safe.
class ConvertHandler {
 public:
  // `metrics`, `events` (can be null) and `clock` outlive the handler and its routes.
  explicit ConvertHandler(Metrics& metrics, ServerEventSink* events = nullptr, const Clock& clock = system_clock(),
                          const MemoryBudgets& budgets = budgets_of(kDefaultMemoryLimit));

  // The route refers to this handler.
  Routes routes() const;

  // One review, counted. What is no review gets a plain HTTP error; one that cannot be
  // converted is answered with status Failure and counted as failed.
  HttpResponse convert(std::string_view body) const;

 private:
  ReviewAnswer answer(std::string_view body, ReviewLabels& labels) const;

  Metrics& metrics_;
  ServerEventSink* const events_;
  const Clock& clock_;
  const size_t most_tree_;
};

}  // namespace muster::server
