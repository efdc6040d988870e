// Start as a group (KEP-498): what a Job or JobSet says about it, what the webhook
// put into its pod templates, and the contract between the reconciler and the waiter.
//
// A gang is configured by a JobSet's spec.groupSchedulingConfig, or by annotations of
// a Job or JobSet (muster.batch/group-scheduling-timeout-seconds, -on-timeout and, for
// JobSets, -targets). Each target's pod template gets a barrier:
//
//   init container  group-scheduling-init, the last one: it waits (the waiter)
//   volume          group-scheduling, an optional ConfigMap, at /mnt/group-scheduling
//   label           muster.batch/group-scheduling: "true", by which muster finds the pods
//   annotation      muster.batch/group-scheduling-epoch of the pod template, and
//                   muster.batch/group-scheduling-on-timeout: Suspend where that was asked
//
// The contract. The ConfigMap <name>-group-scheduling (JobSet) or
// <name>.job-group-scheduling (Job) has two keys, which the waiter sees as files:
//
//   started   tokens of runs whose pods can all start, one per line
//   expired   tokens of runs whose deadline passed first, one per line
//
// A token is <owner uid>/<restart attempt>/<epoch>; it names one run. The reconciler
// writes a run's token into exactly one of the keys, and never takes it back while the
// owner can run. A suspension ends the owner's runs, and empties `started`.
// The waiter exits with
//
//   0    its token is a line of `started` (this wins, should both list it)
//   1    its token is a line of `expired`, or nothing was decided within
//        timeoutAfterSeconds + 120 s of its start (or --grace-seconds), which happens
//        only when muster is down; the termination message distinguishes the two
//   2    it was started wrongly: an empty part of the token, no volume, bad arguments
//   143  it was stopped (SIGTERM)
//
// The waiter learns its token from MUSTER_OWNER_UID, MUSTER_RESTART_ATTEMPT and
// MUSTER_EPOCH, which are fieldRefs to labels and annotations of its pod, so that
// restart, suspend and resume, and re-creation under one name never pass an old gate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/meta/constants.h"
#include "api/meta/field_error.h"
#include "jobs/job_kind.h"

namespace muster::jobs {

// Keys of the ConfigMap.
inline constexpr std::string_view kGroupStartedKey = "started";
inline constexpr std::string_view kGroupExpiredKey = "expired";
inline constexpr std::string_view kGroupDeadlinesKey = "deadlines";

// The waiter's program; the shell loop has this name too, as its $0.
inline constexpr std::string_view kWaiterProgram = "muster-wait";
// The time after the gang's timeout at which a waiter fails without muster.
inline constexpr int64_t kWaiterGraceSeconds = 120;
// The same where one of several targets starts after another replicated job (dependsOn). The gang's time begins when
// all targets can start, at any time after the first waiter has.
inline constexpr int64_t kPatientWaiterGraceSeconds = int64_t{365} * 24 * 60 * 60;

// What becomes of an owner whose pods have not all started in time.
enum class GroupTimeoutAction { kFail, kSuspend };
inline constexpr std::string_view kGroupActionFail = "Fail";
inline constexpr std::string_view kGroupActionSuspend = "Suspend";

std::string group_token(std::string_view owner_uid, std::string_view restart_attempt, std::string_view epoch);

// All of their names end so.
inline constexpr std::string_view kGroupConfigMapSuffix = "-group-scheduling";
// "<name>-group-scheduling" of a JobSet, "<name>.job-group-scheduling" of a Job. The name of a JobSet has no dot (its
// Jobs would have no valid names), so these never meet.
std::string group_config_map_name(const JobKind& kind, std::string_view job_name);
// Whether this is the ConfigMap of this job's gang: its name is the one above, or "<name>-job-group-scheduling", which
// gangs of Jobs got before and keep.
bool is_group_config_map_of(const JobKind& kind, std::string_view job_name, std::string_view config_map);
// The jobs whose ConfigMap can have this name, with the name of the job.
std::vector<std::pair<const JobKind*, std::string>> owners_of_group_config_map(std::string_view config_map);

// What one of the two places, spec field or annotations, says. Values that cannot be
// used are absent here and in the errors of the reading.
struct GroupStatement {
  bool present = false;
  std::optional<int64_t> timeout_seconds;
  // As listed; nullopt when nothing is listed, which means every replicated job.
  std::optional<std::vector<std::string>> targets;
  std::optional<GroupTimeoutAction> on_timeout;

  bool operator==(const GroupStatement&) const = default;
};

struct GroupReading {
  GroupStatement field, annotations;
  FieldErrors timeout_errors;  // missing, malformed, not positive; an unknown action
  FieldErrors target_errors;   // malformed, unknown, repeated
  FieldErrors disagreements;   // between field and annotations

  bool present() const { return field.present || annotations.present; }
  bool usable() const { return present() && timeout_errors.empty() && target_errors.empty() && disagreements.empty(); }
};

// Reads both places of a job of this kind; never fails, it collects.
GroupReading read_group_scheduling(const JobKind& kind, const nlohmann::json& job);

// A gang, ready to be used.
struct GroupConfig {
  int64_t timeout_seconds;
  std::vector<std::string> targets;  // pod sets by name, in the job's order; resolved, so never "all"
  GroupTimeoutAction on_timeout = GroupTimeoutAction::kFail;
  bool starts_in_parts = false;  // one of several targets waits for another replicated job (dependsOn)

  bool has_target(std::string_view pod_set) const;
};

// nullopt when the job is no gang, and when what it says is not usable.
std::optional<GroupConfig> group_config(const JobKind& kind, const nlohmann::json& job);

// The reserved mount path, written with or without a slash at its end.
bool is_group_mount_path(std::string_view path);
// Whether a container runs our waiter on our mount: the reserved name, a mount of the
// reserved volume at the reserved path, and as its command muster-wait or a shell
// loop for the file `started` there (KEP-498's own example is one).
bool is_waiter(const nlohmann::json& container);
// Whether a volume is the barrier's: the reserved name, and an optional ConfigMap
// with the name of a gang's.
bool is_barrier_volume(const nlohmann::json& volume);

// Where our waiter stands among spec.initContainers, and our volume among
// spec.volumes, of a pod template; nullopt when it is not there.
std::optional<size_t> find_waiter(const nlohmann::json& pod_template);
std::optional<size_t> find_barrier_volume(const nlohmann::json& pod_template);

// spec.<key> of a pod template as a list to write to, made when it is missing or null;
// nullptr when the template has another shape, which the API server refuses.
nlohmann::json* make_template_list(nlohmann::json& pod_template, std::string_view key);

}  // namespace muster::jobs
