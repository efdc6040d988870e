// The Jobs of a JobSet, sorted by what they mean for its present attempt, and their
// counts per replicated job. A JobSet restarts by raising status.restarts; a Job
// belongs to the attempt that its label jobset.sigs.k8s.io/restart-attempt names. A single
// Job restarts by raising its number in status.replicatedJobsStatus[].jobRestarts, which its
// label jobset.sigs.k8s.io/job-restart-attempt names.
//
// Pure. The Jobs are the cluster state's and live until its next change. What a count
// means is upstream's (kubernetes-sigs/jobset, pkg/controllers): tools read them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "api/jobset.h"
#include "jobs/jobset/startup_gates.h"
#include "state/cluster_state.h"

namespace muster::reconcilers {

struct JobSetAttempt {
  // Of the present attempt, by name.
  std::vector<const Job*> active;  // unfinished, started or not
  std::vector<const Job*> succeeded;
  std::vector<const Job*> failed;
  // Of earlier attempts, those whose attempt cannot be read, and those that the JobSet does
  // not ask for: to be deleted.
  std::vector<const Job*> older;

  bool empty() const { return active.empty() && succeeded.empty() && failed.empty() && older.empty(); }
};

// Only Jobs that this very JobSet controls; those of a namesake that was deleted are
// not its own.
JobSetAttempt jobs_of(const JobSet& jobset, const state::ClusterState& state);

// One entry per replicated job, in the JobSet's order. An unfinished Job is active when
// it has pods, ready when as many of its pods are ready or have succeeded as can run at
// once, suspended when its spec says so. The restarts of single Jobs are as stored.
std::vector<ReplicatedJobStatus> count_jobs(const JobSet& jobset, const JobSetAttempt& run);

// The same counts, in any order; a missing entry counts as zeros.
bool same_counts(const std::vector<ReplicatedJobStatus>& one, const std::vector<ReplicatedJobStatus>& other);

// By the Jobs themselves, where the status can be late.
jobs::StartupGates startup_gates(const JobSet& jobset, const JobSetAttempt& run,
                                 const std::vector<ReplicatedJobStatus>& counts);

// Whether nothing more is to be expected of any replicated job that can start: each of
// its Jobs is ready, finished or suspended.
bool settled(const JobSet& jobset, const jobs::StartupGates& gates, const std::vector<ReplicatedJobStatus>& counts);

}  // namespace muster::reconcilers
