// The parts of explain.cpp, and what they have in common. Each says one reason and returns (kDone, where it can find
// none), or finds nothing to say and leaves the answer to the next (kContinue).
#pragma once

#include <optional>
#include <string>

#include "api/explained.h"
#include "jobs/queued_job.h"
#include "reconcilers/reconciler.h"
#include "reconcilers/step.h"

namespace muster::explain {

struct ExplainContext : reconcilers::ReconcileContext {
  bool leads;
};

// "2026-01-01T12:00:12Z, in 12s", or "..., 12s ago".
std::string when(TimePoint time, Now now);
// "kubectl -n team-a <rest>".
std::string kubectl(const std::string& ns, const std::string& rest);

// An object that muster wanted to make for this one and that the API server refused.
reconcilers::Step explain_rejection(const ExplainContext& context, const ObjectKey& key, ExplainReply& reply);
// A job that is in no queue, by whoever's choice: how far its pods are, or who would start it.
void explain_unqueued(const ExplainContext& context, const jobs::QueuedJob& job, ExplainReply& reply);
// A job that may run: whether it is started, its gang complete, its pods ready.
// `workload`: what it was admitted by, or nullptr.
void explain_pods(const ExplainContext& context, const jobs::QueuedJob& job, const Workload* workload,
                  ExplainReply& reply);

// A Workload, from its end backwards. `job`: whose it is, where that is known.
void explain_workload(const ExplainContext& context, const Workload& workload,
                      const std::optional<jobs::QueuedJob>& job, ExplainReply& reply);
// The flavors that a Workload has tried, and when it leaves the one that it has.
void explain_flavors(const ExplainContext& context, const Workload& workload, ExplainReply& reply);
// One that is active, not in backoff, and has no quota.
void explain_waiting(const ExplainContext& context, const Workload& workload, ExplainReply& reply);

}  // namespace muster::explain
