// Why the pods of an admitted job are late, the part of an answer that only the pods themselves and the Events know
// (api/pods/pod_reason.h): whose pods are in question, and what an answer says of the reason. Pure.
#pragma once

#include <optional>
#include <string>

#include "api/explained.h"
#include "api/meta/object_event.h"
#include "api/pods/pod_reason.h"
#include "jobs/job_kind.h"
#include "state/cluster_state.h"

namespace muster::explain {

struct LateJob {
  std::string ns{};
  std::string pods{};  // the label selector; empty: nothing says which pods are its
  PodQuestion question{};
  ObjectReference job{};  // without a name: a group of pods
};
// By the job alone. Of a JobSet the Jobs that make its pods are still to be added.
LateJob late_job_of(const jobs::JobKind& kind, const TypedObject& job);
// The job of a Workload, with all that is known of it, or its group of pods; nullopt: neither is there.
std::optional<LateJob> late_job_of(const Workload& workload, const state::ClusterState& state);
// A Workload without a job: its pods have this label, or they are none of a group.
LateJob late_group_of(const std::string& ns, const std::string& name, int64_t pods);

// Whether pods are the question that the answer leaves open: the job is admitted, or runs without a queue, and not all
// of its pods are ready.
bool leaves_pods_open(const ExplainReply& reply);
// Has an effect only then. The remedy of the reason replaces the advice to look at the pods.
void add_pod_reason(const PodReason& reason, ExplainReply& reply);

}  // namespace muster::explain
