#include "jobs/jobset/jobset_fields.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "jobs/job_kind.h"

namespace muster::jobs {

using nlohmann::json;

namespace {

std::optional<int64_t> count_at(const json& value, std::initializer_list<std::string_view> keys) {
  using Limits = std::numeric_limits<int32_t>;
  const std::optional<int64_t> count = int_at(value, keys);
  if (!count) return std::nullopt;
  return std::clamp<int64_t>(*count, Limits::min(), Limits::max());
}

}  // namespace

std::string jobset_name_or_alike(const json& object) {
  std::string name(string_at(object, {"metadata", "name"}));
  if (!name.empty()) return name;
  const std::string prefix(string_at(object, {"metadata", "generateName"}));
  return prefix.empty() ? prefix : prefix + "xxxxx";
}

const json& replicated_jobs_of(const json& object) {
  return array_at(object, {"spec", "replicatedJobs"});
}

std::set<std::string_view> replicated_job_names_of(const json& object) {
  std::set<std::string_view> names;
  for (const json& replicated_job : replicated_jobs_of(object)) names.insert(string_at(replicated_job, {"name"}));
  return names;
}

const json* find_replicated_job(const json& object, std::string_view name) {
  for (const json& replicated_job : replicated_jobs_of(object)) {
    if (string_at(replicated_job, {"name"}) == name) return &replicated_job;
  }
  return nullptr;
}

int64_t replicas_of(const json& replicated_job) {
  return count_at(replicated_job, {"replicas"}).value_or(1);
}

std::optional<int64_t> parallelism_of(const json& replicated_job) {
  return count_at(replicated_job, {"template", "spec", "parallelism"});
}

std::optional<int64_t> completions_of(const json& replicated_job) {
  return count_at(replicated_job, {"template", "spec", "completions"});
}

bool is_indexed(const json& replicated_job) {
  return string_at(replicated_job, {"template", "spec", "completionMode"}) == "Indexed";
}

std::vector<std::string> dns_label_complaints(std::string_view label_text, std::string_view when_too_long) {
  constexpr size_t kMaxLabel = 63;
  std::vector<std::string> complaints = is_dns1035_label(label_text);
  if (label_text.size() > kMaxLabel) complaints.front() = when_too_long;
  return complaints;
}

bool restarts_in_place(const json& object) {
  return string_at(object, {"spec", "failurePolicy", "restartStrategy"}) == "InPlaceRestart";
}

bool restarts_single_job(const json& failure_policy_rule) {
  const std::string_view action = string_at(failure_policy_rule, {"action"});
  return action == "RestartJob" || action == "RestartJobAndIgnoreMaxRestarts";
}

bool is_managed_elsewhere(const json& object) {
  return !jobset.is_managed_by(string_at(object, {"spec", "managedBy"}));
}

std::string child_job_name(std::string_view jobset_name, std::string_view replicated_job, int64_t index) {
  std::string name(jobset_name);
  return name.append("-").append(replicated_job).append("-").append(std::to_string(index));
}

std::string claim_name(std::string_view jobset_name, std::string_view claim_template) {
  return std::string(claim_template) + "-" + std::string(jobset_name);
}

std::string pod_address(std::string_view child_job, int64_t pod_index, std::string_view subdomain) {
  std::string address(child_job);
  return address.append("-").append(std::to_string(pod_index)).append(".").append(subdomain);
}

}  // namespace muster::jobs
