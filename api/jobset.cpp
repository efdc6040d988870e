#include "api/jobset.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "api/codec/json.h"
#include "api/meta/constants.h"

namespace muster {
namespace {

using nlohmann::json;

ReplicatedJob read_replicated_job(const json& object) {
  ReplicatedJob replicated;
  replicated.name = string_at(object, {"name"});
  const std::string_view group = string_at(object, {"groupName"});
  replicated.group_name = group.empty() ? "default" : group;
  replicated.replicas = int32_at(object, {"replicas"}, 1);
  for (const json& dependency : array_at(object, {"dependsOn"})) {
    replicated.depends_on.push_back(
        {std::string(string_at(dependency, {"name"})),
         string_at(dependency, {"status"}) == "Complete" ? DependencyStatus::kComplete : DependencyStatus::kReady});
  }
  const json& job = object_at(object, {"template"});
  replicated.parallelism = int32_at(job, {"spec", "parallelism"}, 1);
  if (int_at(job, {"spec", "completions"})) replicated.completions = int32_at(job, {"spec", "completions"});
  replicated.barrier = read_barrier(object_at(job, {"spec", "template"}));
  replicated.pod_template = read_pod_template(object_at(job, {"spec", "template"}));
  replicated.template_text = to_text(job);
  json rest = object.is_object() ? object : json::object();
  rest.erase("template");
  replicated.rest_text = to_text(rest);
  return replicated;
}

FailureAction read_action(std::string_view action) {
  if (action == "RestartJobSet") return FailureAction::kRestartJobSet;
  if (action == "RestartJobSetAndIgnoreMaxRestarts") return FailureAction::kRestartJobSetAndIgnoreMaxRestarts;
  if (action == "RestartJob") return FailureAction::kRestartJob;
  if (action == "RestartJobAndIgnoreMaxRestarts") return FailureAction::kRestartJobAndIgnoreMaxRestarts;
  return FailureAction::kFailJobSet;
}

std::optional<FailurePolicy> read_failure_policy(const json& object) {
  const json* policy = find_path(object, {"spec", "failurePolicy"});
  if (policy == nullptr || !policy->is_object()) return std::nullopt;
  FailurePolicy read;
  read.max_restarts = int32_at(*policy, {"maxRestarts"});
  const std::string_view strategy = string_at(*policy, {"restartStrategy"});
  if (strategy == "BlockingRecreate") read.strategy = RestartStrategy::kBlockingRecreate;
  if (strategy == "InPlaceRestart") read.strategy = RestartStrategy::kInPlace;
  for (const json& rule : array_at(*policy, {"rules"})) {
    read.rules.push_back({.name = std::string(string_at(rule, {"name"})),
                          .action = read_action(string_at(rule, {"action"})),
                          .reasons = strings_at(rule, {"onJobFailureReasons"}),
                          .message_patterns = strings_at(rule, {"onJobFailureMessagePatterns"}),
                          .targets = strings_at(rule, {"targetReplicatedJobs"})});
  }
  return read;
}

constexpr std::string_view kActions[] = {"",
                                         "FailJobSet",
                                         "RestartJobSet",
                                         "RestartJobSetAndIgnoreMaxRestarts",
                                         "RestartJob",
                                         "RestartJobAndIgnoreMaxRestarts"};
constexpr std::string_view kStrategies[] = {"", "Recreate", "BlockingRecreate", "InPlaceRestart"};

template <size_t N>
void note_unless(const std::string_view (&known)[N], const std::string& field, std::string_view value,
                 std::vector<std::string>& found) {
  if (std::find(std::begin(known), std::end(known), value) == std::end(known))
    found.push_back(field + ": " + std::string(value));
}

// The status has space for the restarts of this number of Jobs.
void note_too_many_for_single_restarts(const json& object, std::vector<std::string>& found) {
  const json& rules = array_at(object, {"spec", "failurePolicy", "rules"});
  const auto rule = std::find_if(rules.begin(), rules.end(), [](const json& each) {
    return string_at(each, {"action"}) == "RestartJob" ||
           string_at(each, {"action"}) == "RestartJobAndIgnoreMaxRestarts";
  });
  if (rule == rules.end()) return;
  size_t i = 0;
  for (const json& replicated : array_at(object, {"spec", "replicatedJobs"})) {
    const int32_t replicas = int32_at(replicated, {"replicas"}, 1);
    const std::string field = "spec.replicatedJobs[" + std::to_string(i++) + "].replicas: ";
    if (replicas <= kMostReplicasForSingleRestarts) continue;
    found.push_back(field + std::to_string(replicas) + " with action " + std::string(string_at(*rule, {"action"})));
  }
}

std::vector<std::string> read_unsupported(const json& object) {
  std::vector<std::string> found;
  const json& policy = object_at(object, {"spec", "failurePolicy"});
  note_unless(kStrategies, "spec.failurePolicy.restartStrategy", string_at(policy, {"restartStrategy"}), found);
  size_t i = 0;
  for (const json& rule : array_at(policy, {"rules"}))
    note_unless(kActions, "spec.failurePolicy.rules[" + std::to_string(i++) + "].action", string_at(rule, {"action"}),
                found);
  note_too_many_for_single_restarts(object, found);
  if (const json* scheduling = find_path(object, {"spec", "scheduling"});
      scheduling != nullptr && !scheduling->is_null())
    found.emplace_back("spec.scheduling");
  return found;
}

std::vector<VolumeClaim> read_volume_claims(const json& object) {
  std::vector<VolumeClaim> claims;
  for (const json& policy : array_at(object, {"spec", "volumeClaimPolicies"})) {
    const bool retained = string_at(policy, {"retentionPolicy", "whenDeleted"}) != "Delete";
    for (const json& claim : array_at(policy, {"templates"})) {
      claims.push_back(
          {.name = std::string(string_at(claim, {"metadata", "name"})), .text = to_text(claim), .retained = retained});
    }
  }
  return claims;
}

// A value that is not a number counts as 0; the result is never negative.
std::vector<int32_t> read_counts(const json& list) {
  std::vector<int32_t> counts;
  for (const json& count : list) counts.push_back(std::max(0, int32_at(count, {})));
  return counts;
}

std::optional<int32_t> read_attempt(const json& object, std::string_view field) {
  if (!int_at(object, {"status", field})) return std::nullopt;
  return int32_at(object, {"status", field});
}

JobSetStatus read_jobset_status(const json& object) {
  JobSetStatus status;
  status.conditions = read_conditions(array_at(object, {"status", "conditions"}));
  status.restarts = int32_at(object, {"status", "restarts"});
  status.restarts_count_towards_max = int32_at(object, {"status", "restartsCountTowardsMax"});
  status.terminal_state = string_at(object, {"status", "terminalState"});
  status.current_in_place_attempt = read_attempt(object, "currentInPlaceRestartAttempt");
  status.previous_in_place_attempt = read_attempt(object, "previousInPlaceRestartAttempt");
  status.start_time = time_at(object, {"status", "startTime"});
  status.execution_attempts = read_attempt(object, "executionAttempts");
  for (const json& item : array_at(object, {"status", "replicatedJobsStatus"})) {
    status.replicated_jobs.push_back(
        {.name = std::string(string_at(item, {"name"})),
         .ready = int32_at(item, {"ready"}),
         .succeeded = int32_at(item, {"succeeded"}),
         .failed = int32_at(item, {"failed"}),
         .active = int32_at(item, {"active"}),
         .suspended = int32_at(item, {"suspended"}),
         .job_restarts = read_counts(array_at(item, {"jobRestarts"})),
         .job_restarts_count_towards_max = read_counts(array_at(item, {"jobRestartsCountTowardsMax"}))});
  }
  return status;
}

void read_network(const json& object, JobSet& jobset) {
  const json& network = object_at(object, {"spec", "network"});
  jobset.subdomain = string_at(network, {"subdomain"});
  if (jobset.subdomain.empty()) jobset.subdomain = jobset.meta.name;
  jobset.dns_hostnames = bool_at(network, {"enableDNSHostnames"});
  if (find_path(network, {"publishNotReadyAddresses"}))
    jobset.publish_not_ready_addresses = bool_at(network, {"publishNotReadyAddresses"});
}

}  // namespace

const ReplicatedJob* JobSet::find(std::string_view replicated_job) const {
  const auto found = std::find_if(replicated_jobs.begin(), replicated_jobs.end(),
                                  [&](const ReplicatedJob& candidate) { return candidate.name == replicated_job; });
  return found == replicated_jobs.end() ? nullptr : &*found;
}

bool JobSet::restarts_single_jobs() const {
  return failure && std::any_of(failure->rules.begin(), failure->rules.end(), [](const FailureRule& rule) {
           return rule.action == FailureAction::kRestartJob ||
                  rule.action == FailureAction::kRestartJobAndIgnoreMaxRestarts;
         });
}

int32_t JobSetStatus::job_restarts_of(std::string_view replicated_job, int32_t index) const {
  const auto found = std::find_if(replicated_jobs.begin(), replicated_jobs.end(),
                                  [&](const ReplicatedJobStatus& entry) { return entry.name == replicated_job; });
  if (found == replicated_jobs.end() || index < 0 || std::cmp_greater_equal(index, found->job_restarts.size()))
    return 0;
  return found->job_restarts[static_cast<size_t>(index)];
}

int64_t JobSetStatus::restarts_towards_max() const {
  int64_t total = restarts_count_towards_max;
  for (const ReplicatedJobStatus& entry : replicated_jobs)
    total = std::accumulate(entry.job_restarts_count_towards_max.begin(), entry.job_restarts_count_towards_max.end(),
                            total);
  return total;
}

JobSetPtr read_jobset(const json& object) {
  auto jobset = std::make_shared<JobSet>();
  jobset->meta = read_meta(object);
  jobset->suspended = bool_at(object, {"spec", "suspend"});
  jobset->managed_by = string_at(object, {"spec", "managedBy"});
  for (const json& item : array_at(object, {"spec", "replicatedJobs"})) {
    jobset->replicated_jobs.push_back(read_replicated_job(item));
  }
  read_network(object, *jobset);
  jobset->success.op =
      string_at(object, {"spec", "successPolicy", "operator"}) == "Any" ? PolicyOperator::kAny : PolicyOperator::kAll;
  jobset->success.targets = strings_at(object, {"spec", "successPolicy", "targetReplicatedJobs"});
  jobset->failure = read_failure_policy(object);
  jobset->in_order = string_at(object, {"spec", "startupPolicy", "startupPolicyOrder"}) == "InOrder";
  if (int_at(object, {"spec", "ttlSecondsAfterFinished"}))
    jobset->ttl_seconds_after_finished = int32_at(object, {"spec", "ttlSecondsAfterFinished"});
  jobset->active_deadline_seconds = int_at(object, {"spec", "activeDeadlineSeconds"});
  const json* coordinator = find_path(object, {"spec", "coordinator"});
  if (coordinator != nullptr && coordinator->is_object()) {
    jobset->coordinator = Coordinator{std::string(string_at(*coordinator, {"replicatedJob"})),
                                      int32_at(*coordinator, {"jobIndex"}), int32_at(*coordinator, {"podIndex"})};
  }
  jobset->volume_claims = read_volume_claims(object);
  jobset->unsupported = read_unsupported(object);
  jobset->status = read_jobset_status(object);
  return jobset;
}

json to_json(const JobSetStatus& status) {
  json object = {{"conditions", to_json(status.conditions)},
                 {"restarts", status.restarts},
                 {"restartsCountTowardsMax", status.restarts_count_towards_max}};
  if (!status.terminal_state.empty()) object["terminalState"] = status.terminal_state;
  if (status.current_in_place_attempt) object["currentInPlaceRestartAttempt"] = *status.current_in_place_attempt;
  if (status.previous_in_place_attempt) object["previousInPlaceRestartAttempt"] = *status.previous_in_place_attempt;
  if (!status.start_time.is_zero()) object["startTime"] = time_to_json(status.start_time);
  if (status.execution_attempts) object["executionAttempts"] = *status.execution_attempts;
  json& replicated_jobs = object["replicatedJobsStatus"] = json::array();
  for (const ReplicatedJobStatus& job : status.replicated_jobs) {
    replicated_jobs.push_back({{"name", job.name},
                               {"ready", job.ready},
                               {"succeeded", job.succeeded},
                               {"failed", job.failed},
                               {"active", job.active},
                               {"suspended", job.suspended}});
    if (!job.job_restarts.empty()) replicated_jobs.back()["jobRestarts"] = job.job_restarts;
    if (!job.job_restarts_count_towards_max.empty())
      replicated_jobs.back()["jobRestartsCountTowardsMax"] = job.job_restarts_count_towards_max;
  }
  return object;
}

}  // namespace muster
