// How an open question about a job ends a review.
#pragma once

#include "jobs/management.h"
#include "mutators/mutator.h"

namespace muster::mutators {

// 503 ServiceUnavailable when the answer comes with time, else 403 Forbidden.
inline MutationError refusal(const jobs::Undecided& question) {
  if (question.retry) return {503, "ServiceUnavailable", question.message};
  return {403, "Forbidden", question.message};
}

}  // namespace muster::mutators
