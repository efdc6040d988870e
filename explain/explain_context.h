// The parts of explain.cpp, and what they have in common. Each says one reason and returns (kDone, where it can find
// none), or finds nothing to say and leaves the answer to the next (kContinue).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/explained.h"
#include "explain/remedies.h"
#include "explain/unseen.h"
#include "jobs/queued_job.h"
#include "reconcilers/job/job_workload_context.h"
#include "reconcilers/reconciler.h"
#include "reconcilers/step.h"
#include "scheduler/eligibility.h"
#include "scheduler/views/explanation.h"
#include "state/queues_of.h"

namespace muster::explain {

struct ExplainContext : reconcilers::ReconcileContext {
  bool leads;
  const Unseen& unseen;

  bool hides(const ResourceType& type) const { return unseen.kinds.contains(type.id()); }
};

// --- What the reader cannot list (explain_unseen.cpp) ---
// "Unknown" where objects of one of these kinds possibly exist that are not here: "Job team-a/train: <what> is not
// known, because you cannot list workloads."
reconcilers::Step explain_unseen(const ExplainContext& context, std::string_view what,
                                 const std::vector<const ResourceType*>& types, ExplainReply& reply);
inline constexpr std::string_view kItsState = "its state";
inline constexpr std::string_view kStateOfPods = "the state of its pods";
// Whether the job is queued rests on labels or owners that are unseen. `workload`: its own, or nullptr.
reconcilers::Step explain_unseen_owner(const ExplainContext& context, const jobs::QueuedJob& job,
                                       const Workload* workload, ExplainReply& reply);
// What is to be read of a job is in another object, as its runtime.
reconcilers::Step explain_unseen_parts(const ExplainContext& context, const jobs::QueuedJob& job, ExplainReply& reply);
// One of the queues of a Workload, what its ClusterQueue names, or the labels of its namespace.
reconcilers::Step explain_unseen_queues(const ExplainContext& context, const Workload& workload,
                                        const state::QueuesOf& queues, ExplainReply& reply);
// A pending Workload's requests or the quota that others hold. `reason`: what would be said.
reconcilers::Step explain_unseen_turn(const ExplainContext& context, const Workload& workload,
                                      const ClusterQueue* queue, std::string_view reason, ExplainReply& reply);
// Whether the requests of a Workload and what its ClusterQueue can have are known.
bool sees_requests(const ExplainContext& context, const Workload& workload, const ClusterQueue* queue);
// Whether the order of the queues is known.
bool sees_order(const ExplainContext& context);

// "2026-01-01T12:00:12Z, in 12s", or "..., 12s ago".
std::string when(TimePoint time, Now now);
// "kubectl -n team-a <rest>".
std::string kubectl(const std::string& ns, const std::string& rest);

// There is no such object; or the kind is in no queue because of muster's configuration.
void say_not_found(const ExplainContext& context, const ObjectKey& key, ExplainReply& reply);
void say_not_queued(const jobs::JobKind& kind, ExplainReply& reply);
// The priority class that a job names does not exist.
void explain_priority(const ExplainContext& known, const reconcilers::JobContext& context, ExplainReply& reply);

// An object that muster wanted to make for this one and that the API server refused.
reconcilers::Step explain_rejection(const ExplainContext& context, const ObjectKey& key, ExplainReply& reply);
// A job that is in no queue, by whoever's choice: how far its pods are, or who would start it.
void explain_unqueued(const ExplainContext& context, const jobs::QueuedJob& job, ExplainReply& reply);
// A job that can run: whether it is started, its gang complete, its pods ready.
// `workload`: what it was admitted by, or nullptr.
void explain_pods(const ExplainContext& context, const jobs::QueuedJob& job, const Workload* workload,
                  ExplainReply& reply);

// A pod in a queue; a StatefulSet or LeaderWorkerSet; an object of a kind that muster does not watch.
void explain_pod(const ExplainContext& context, const ObjectKey& key, ExplainReply& reply);
void explain_set(const ExplainContext& context, const ObjectKey& key, ExplainReply& reply);
void explain_unwatched(const ObjectKey& key, ExplainReply& reply);
// An admitted Workload of pods: how far they are. kContinue: it is of another kind.
reconcilers::Step explain_pods_of_workload(const ExplainContext& context, const Workload& workload,
                                           ExplainReply& reply);

// A Workload, from its end backwards. `job`: whose it is, where that is known.
void explain_workload(const ExplainContext& context, const Workload& workload,
                      const std::optional<jobs::QueuedJob>& job, ExplainReply& reply);
// The flavors that a Workload has tried, and when it leaves the one that it has.
void explain_flavors(const ExplainContext& context, const Workload& workload, ExplainReply& reply);
// `$type` and `$name` of the job of a Workload; none when its owner is no job that muster runs.
Words words_of_job(const ExplainContext& context, const Workload& workload);
// The object of this kind (in the namespace, if it has one) whose name is nearest; empty: none is near.
std::string nearest_name(const ExplainContext& context, const ResourceType& type, const std::string& ns,
                         std::string_view name);
// The name of the only LocalQueue of a namespace; empty: it has none or several.
std::string only_local_queue(const ExplainContext& context, const std::string& ns);
// A merge patch that gives a namespace the labels that a selector wants; empty: there is none.
std::string labels_patch(const LabelSelector& selector, const Labels& has);
// Whose Workloads have the quota of this row.
void add_holders(const ExplainContext& context, const scheduler::FlavorRow& row, const std::string& cluster_queue,
                 ExplainReply& reply);
// Workloads that were evicted for this one and still hold quota.
ExplainedOthers victims_of(const ExplainContext& context, const Workload& workload);
// With blockAdmission: the Workload that blocks all others, if there is one.
ExplainedOthers blocker_in(const ExplainContext& context);
// What each flavor that does not suit the pods would need.
void add_flavor_remedies(const ExplainContext& context, const Workload& workload, const scheduler::SchedulerView& waits,
                         ExplainReply& reply);
// Which requests of a Workload are above limits, or outside of a LimitRange, with the numbers; the actions.
void explain_limits(const ExplainContext& context, const Workload& workload, ExplainReply& reply);
// The terms of its place in the queue; of a Workload that is not pending nothing.
void explain_order(const ExplainContext& context, const Workload& workload, ExplainReply& reply);
// One that is active, not in backoff, and has no quota.
void explain_waiting(const ExplainContext& context, const Workload& workload, ExplainReply& reply);

}  // namespace muster::explain
