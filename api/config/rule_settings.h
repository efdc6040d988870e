// The part of the configuration that mutators and validators read. Made from the
// Configuration file and flags (api/config/configuration.h); immutable while serving.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/config/gate.h"
#include "api/meta/selectors.h"

namespace muster {

enum class SuspendGuard {
  kEnforce,  // unsuspending a queued Job by hand is rejected
  kObserve,  // it is let through, with a warning in the response
};

// Who runs the JobSets of this cluster.
enum class JobSetMode {
  kExternal,  // JobSet's own controller, which muster stands beside
  kNative,    // muster
};

// How the start barrier's init container waits.
struct WaiterSettings {
  // With muster's own image the static executable /muster-wait is the command;
  // with any other image (one that has only a shell) an equivalent shell loop.
  std::string image = "muster:dev";
  bool shell_loop = false;
};

struct RuleSettings {
  bool manage_jobs_without_queue_name = false;
  // Which namespaces `manage_jobs_without_queue_name` and the default LocalQueue apply to.
  LabelSelector managed_jobs_namespace_selector = LabelSelector::everything();
  // Enabled integrations by Kueue's name: "batch/job", "jobset.x-k8s.io/jobset".
  std::set<std::string, std::less<>> frameworks = {"batch/job", "jobset.x-k8s.io/jobset"};
  // integrations.externalFrameworks, "RayJob.v1.ray.io": kinds whose own controllers make their Workloads
  // and start and stop them by these.
  std::set<std::string, std::less<>> external_frameworks{};
  FeatureGates feature_gates;  // Kueue's
  SuspendGuard suspend_guard = SuspendGuard::kEnforce;
  // User names that can unsuspend queued Jobs: muster's own service account, and
  // JobSet's controller in external mode.
  std::set<std::string, std::less<>> admitters;
  // JobSet's controller in external mode, which is one of them: it makes and starts the Jobs of JobSets, and no Job
  // that is queued by itself. Empty: unknown, or muster is the JobSet controller.
  std::string jobset_controller{};
  // muster's user name for the API server, of a service account or of the user who runs it; empty:
  // unknown.
  std::string own_name;
  WaiterSettings waiter;
  // Whether jobs can start as a group; off, what asks for it is refused.
  bool group_scheduling = true;
  // Of the resources that a running pod can be resized in (cpu, memory) those that quota does not count: excluded, and
  // read by no transformation.
  std::set<std::string, std::less<>> uncounted_resources{};
  // A queue name on a kind that is not queued here is refused; else it gets a warning.
  bool deny_unqueued = false;
  // Who submits a job is written on it (api/meta/submitter.h).
  bool record_submitter = false;
  // Where muster runs JobSets, they get from it what they get from JobSet's own webhook elsewhere.
  JobSetMode jobset_mode = JobSetMode::kExternal;
  // JobSet's feature gates that are not off, which is what they all are by default.
  std::map<std::string, bool, std::less<>> jobset_feature_gates;

  bool runs_jobsets() const { return jobset_mode == JobSetMode::kNative; }
  bool enabled(Gate gate) const { return feature_gates.enabled(gate); }
  // Whether objects of this kind are of external_frameworks.
  bool is_external(std::string_view api_version, std::string_view kind) const;
  bool jobset_enabled(std::string_view jobset_gate) const;
};

}  // namespace muster
