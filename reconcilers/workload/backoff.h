// How long a Workload that was evicted waits before it can be tried again: pure
// arithmetic. Source: Kueue KEP-1282 and its waitForPodsReady.requeuingStrategy.
#pragma once

#include <cstdint>
#include <string_view>

#include "api/config/queue_settings.h"
#include "api/workload.h"
#include "base/clock.h"

namespace muster::reconcilers {

// The delay after the `count`-th eviction, counted from 1, without jitter:
// base * 2^(count - 1), capped at max; but the first one is the base even above max.
Duration backoff_delay(int32_t count, int32_t base_seconds, int32_t max_seconds);

// A share in [0, 1) that is always the same for a uid and count. Over many uids they are
// spread evenly, so that Workloads that are evicted together do not come back together.
double jitter_share(std::string_view uid, int32_t count);

// Moves requeueAt to `wanted`, never to an earlier time, and counts the eviction if requested. Whether anything
// changed.
bool set_requeue_at(RequeueState& state, Timestamp wanted, bool increment);

// When the delay after the `count`-th eviction is over, with its jitter: a whole second, never
// before the delay without jitter is over.
Timestamp backoff_end(int32_t count, const RequeuingStrategy& strategy, std::string_view uid, TimePoint now);

// Counts one more eviction of this Workload and sets when it can come back: a whole
// second, never before the delay without jitter is over.
void count_eviction(RequeueState& state, const RequeuingStrategy& strategy, std::string_view uid, TimePoint now);

}  // namespace muster::reconcilers
