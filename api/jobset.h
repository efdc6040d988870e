// A JobSet (jobset.x-k8s.io/v1alpha2), as far as muster reads it. Immutable once
// read, and shared. The Jobs' templates stay as text: they are parsed only to make Jobs.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job.h"
#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "base/shared_text.h"

namespace muster {

enum class DependencyStatus { kReady, kComplete };
struct Dependency {
  std::string replicated_job;
  DependencyStatus until;
};

struct ReplicatedJob {
  std::string name;
  std::string group_name;  // "default" unless set
  int32_t replicas = 1;
  std::vector<Dependency> depends_on;
  // Of the template, for what is asked often.
  int32_t parallelism = 1;
  std::optional<int32_t> completions;
  std::optional<Barrier> barrier;
  PodTemplate pod_template;
  SharedText template_text;  // JSON text of `template` (a JobTemplateSpec)
  // JSON text of everything else: the list is written whole or not at all.
  std::string rest_text;
};

enum class PolicyOperator { kAll, kAny };
struct SuccessPolicy {
  PolicyOperator op = PolicyOperator::kAll;
  std::vector<std::string> targets;  // none: all replicated jobs
};

// Other strategies of JobSet's own controller are named in JobSet::unsupported.
enum class FailureAction {
  kFailJobSet,
  kRestartJobSet,
  kRestartJobSetAndIgnoreMaxRestarts,
  kRestartJob,
  kRestartJobAndIgnoreMaxRestarts,
};
// Of a replicated job, where a rule restarts single Jobs: the status lists them.
inline constexpr int32_t kMostReplicasForSingleRestarts = 1024;
struct FailureRule {
  std::string name;
  FailureAction action = FailureAction::kFailJobSet;
  std::vector<std::string> reasons;           // onJobFailureReasons; none: any
  std::vector<std::string> message_patterns;  // onJobFailureMessagePatterns; none: any
  std::vector<std::string> targets;           // none: any replicated job
};
// kInPlace: containers restart in their pods; a failed Job makes the JobSet restart as kRecreate does.
enum class RestartStrategy { kRecreate, kBlockingRecreate, kInPlace };
struct FailurePolicy {
  int32_t max_restarts = 0;
  RestartStrategy strategy = RestartStrategy::kRecreate;
  std::vector<FailureRule> rules;
};

// One template of spec.volumeClaimPolicies. The claim is shared by all pods that mount the volume.
struct VolumeClaim {
  std::string name;      // of the template and of the volume; the claim is "<name>-<jobset>"
  SharedText text;       // JSON text of the template (a PersistentVolumeClaim)
  bool retained = true;  // retentionPolicy.whenDeleted; otherwise the claim goes with the JobSet
};

struct Coordinator {
  std::string replicated_job;
  int32_t job_index = 0;
  int32_t pod_index = 0;
};

struct ReplicatedJobStatus {
  std::string name;
  int32_t ready = 0;
  int32_t succeeded = 0;
  int32_t failed = 0;
  int32_t active = 0;
  int32_t suspended = 0;
  // Restarts of single Jobs by job index, and those of them that count towards maxRestarts.
  // Shorter than the number of Jobs: the rest is 0.
  std::vector<int32_t> job_restarts{};
  std::vector<int32_t> job_restarts_count_towards_max{};

  bool operator==(const ReplicatedJobStatus&) const = default;
};

struct JobSetStatus {
  Conditions conditions;
  int32_t restarts = 0;
  int32_t restarts_count_towards_max = 0;
  std::string terminal_state;  // "Completed", "Failed" or empty
  // Of in-place restarts. A pod of the current attempt can start its workers; a pod of the previous one, or of an
  // earlier attempt, restarts its containers. nullopt: none was reached.
  std::optional<int32_t> current_in_place_attempt{};
  std::optional<int32_t> previous_in_place_attempt{};
  std::vector<ReplicatedJobStatus> replicated_jobs;
  // Since when it runs without a pause or a restart of all Jobs. Zero: it is suspended, or the gate
  // JobSetActiveDeadlineSeconds is off.
  Timestamp start_time{};
  // How often it has begun to run after the first time: resumes, and restarts of all Jobs. nullopt: it has not run
  // while the gate ExecutionAttemptsTracking was on.
  std::optional<int32_t> execution_attempts{};

  bool operator==(const JobSetStatus&) const = default;

  // How often the Job of this index was restarted by itself.
  int32_t job_restarts_of(std::string_view replicated_job, int32_t index) const;
  // All restarts that failurePolicy.maxRestarts limits: of the JobSet, and of single Jobs.
  int64_t restarts_towards_max() const;
};

struct JobSet {
  ObjectMeta meta;
  bool suspended = false;
  std::string managed_by;
  std::vector<ReplicatedJob> replicated_jobs;
  std::string subdomain;       // spec.network.subdomain, or the JobSet's name
  bool dns_hostnames = false;  // the webhook's default is to have them
  bool publish_not_ready_addresses = true;
  SuccessPolicy success;
  std::optional<FailurePolicy> failure;
  bool in_order = false;  // startupPolicyOrder: InOrder
  std::optional<int32_t> ttl_seconds_after_finished;
  std::optional<int64_t> active_deadline_seconds;  // from status.start_time
  std::optional<Coordinator> coordinator;
  std::vector<VolumeClaim> volume_claims;
  // Its unsupported features, as "field: value": such a JobSet is not started. muster's webhook refuses new ones; a
  // JobSet that is older than muster can have them.
  std::vector<std::string> unsupported;
  JobSetStatus status;

  bool finished() const { return !status.terminal_state.empty() || ended_by("Completed") || ended_by("Failed"); }
  const ReplicatedJob* find(std::string_view replicated_job) const;
  // A rule of the failure policy restarts single Jobs.
  bool restarts_single_jobs() const;
  bool restarts_in_place() const { return failure && failure->strategy == RestartStrategy::kInPlace; }

 private:
  bool ended_by(std::string_view type) const { return condition_is_true(status.conditions, type); }
};

JobSetPtr read_jobset(const nlohmann::json& object);
// The status as the API server stores it. What is not set is left out.
nlohmann::json to_json(const JobSetStatus& status);

}  // namespace muster
