// The users that can change the fields of a Workload that only muster decides.
#pragma once

#include "api/review/review.h"
#include "jobs/management.h"

namespace muster::validators {

// The sender is muster or an admitter. True also where neither is known, as in `muster review`: muster would
// refuse its own writes.
inline bool is_sent_by_muster(const Review& review) {
  const RuleSettings& settings = review.settings;
  if (settings.admitters.empty() && settings.own_name.empty()) return true;
  return jobs::is_admitter(review) || review.request.user.username == settings.own_name;
}

}  // namespace muster::validators
