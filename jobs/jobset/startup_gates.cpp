#include "jobs/jobset/startup_gates.h"

#include <algorithm>

namespace muster::jobs {
namespace {

bool reached(const JobSet& jobset, const Dependency& dependency, const std::vector<ReplicatedJobStatus>& counts) {
  const ReplicatedJob* awaited = jobset.find(dependency.replicated_job);
  const ReplicatedJobStatus* have = find_counts(counts, dependency.replicated_job);
  if (awaited == nullptr || have == nullptr) return false;
  const int64_t done = dependency.until == DependencyStatus::kComplete ? have->succeeded : started(*have);
  return done == awaited->replicas;
}

}  // namespace

const ReplicatedJobStatus* find_counts(const std::vector<ReplicatedJobStatus>& counts,
                                       std::string_view replicated_job) {
  const auto found = std::find_if(counts.begin(), counts.end(),
                                  [&](const ReplicatedJobStatus& entry) { return entry.name == replicated_job; });
  return found == counts.end() ? nullptr : &*found;
}

int64_t started(const ReplicatedJobStatus& counts) {
  return int64_t{counts.ready} + counts.failed + counts.succeeded;
}

StartupGates startup_gates(const JobSet& jobset, const std::vector<ReplicatedJobStatus>& counts, bool released) {
  const bool in_order = jobset.in_order && !jobset.suspended;
  const bool completed = released && condition_is_true(jobset.status.conditions, kStartupPolicyCompleted);
  StartupGates gates;
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) {
    const bool free = std::all_of(replicated.depends_on.begin(), replicated.depends_on.end(),
                                  [&](const Dependency& dependency) { return reached(jobset, dependency, counts); });
    gates.open.push_back(free && !gates.in_progress);
    const ReplicatedJobStatus* have = find_counts(counts, replicated.name);
    const bool has_started = have != nullptr && started(*have) == replicated.replicas;
    if (in_order && free && !completed && !has_started) gates.in_progress = true;
  }
  return gates;
}

std::string closed_until(const JobSet& jobset, size_t replicated_job) {
  const std::vector<ReplicatedJobStatus>& counts = jobset.status.replicated_jobs;
  for (const Dependency& dependency : jobset.replicated_jobs[replicated_job].depends_on) {
    if (reached(jobset, dependency, counts)) continue;
    return "until " + dependency.replicated_job +
           (dependency.until == DependencyStatus::kComplete ? " is complete" : " is ready");
  }
  if (!jobset.in_order || jobset.suspended || condition_is_true(jobset.status.conditions, kStartupPolicyCompleted))
    return "";
  for (size_t i = 0; i < replicated_job; ++i) {
    const ReplicatedJob& before = jobset.replicated_jobs[i];
    const ReplicatedJobStatus* have = find_counts(counts, before.name);
    if (have == nullptr || started(*have) != before.replicas) return "until " + before.name + " has started";
  }
  return "";
}

}  // namespace muster::jobs
