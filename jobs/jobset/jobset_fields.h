// What the rules for JobSets read of them, as the API understands it: what is left
// out counts as its default, what has the wrong shape as left out.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace muster::jobs {

// The name, or one as long as generateName will make it.
std::string jobset_name_or_alike(const nlohmann::json& jobset);
// An absent list is empty.
const nlohmann::json& replicated_jobs_of(const nlohmann::json& jobset);
std::set<std::string_view> replicated_job_names_of(const nlohmann::json& jobset);
// nullptr when none has the name.
const nlohmann::json* find_replicated_job(const nlohmann::json& jobset, std::string_view name);

// Of one element of spec.replicatedJobs.
// Numbers are 32 bits wide in the schema; what a request claims beyond that counts as the largest.
int64_t replicas_of(const nlohmann::json& replicated_job);
std::optional<int64_t> parallelism_of(const nlohmann::json& replicated_job);
std::optional<int64_t> completions_of(const nlohmann::json& replicated_job);
bool is_indexed(const nlohmann::json& replicated_job);

// "<jobset>-<replicated job>-<index>".
std::string child_job_name(std::string_view jobset, std::string_view replicated_job, int64_t index);
// "<child Job>-<pod index>.<subdomain>": under which the cluster's DNS knows a pod.
std::string pod_address(std::string_view child_job, int64_t pod_index, std::string_view subdomain);

// "<template>-<jobset>": a PersistentVolumeClaim of spec.volumeClaimPolicies.
std::string claim_name(std::string_view jobset, std::string_view claim_template);

// What is wrong with a DNS label that becomes part of names; the complaint about its
// length is replaced, because the label is made from several fields.
std::vector<std::string> dns_label_complaints(std::string_view label, std::string_view when_too_long);

// failurePolicy.restartStrategy is InPlaceRestart.
bool restarts_in_place(const nlohmann::json& jobset);
// The action restarts a single Job: RestartJob and RestartJobAndIgnoreMaxRestarts.
bool restarts_single_job(const nlohmann::json& failure_policy_rule);
// spec.managedBy names another controller than JobSet's, whose role muster has.
bool is_managed_elsewhere(const nlohmann::json& jobset);

}  // namespace muster::jobs
