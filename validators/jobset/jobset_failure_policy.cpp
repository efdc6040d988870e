// The rules of a failure policy have unique names, name replicated jobs of this
// JobSet and reasons that Jobs fail for; and actions on single Jobs need JobSet's
// feature gate RestartJob, and no more than 1024 replicas. Rejected, for example:
//
//   failurePolicy: {rules: [{name: r, action: FailJobSet, onJobFailureReasons: [Bored]}]}
#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config/feature_gates.h"
#include "api/jobset.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_failure_policy {
namespace {

using nlohmann::json;

constexpr size_t kMaxNameBytes = 128;
constexpr std::array<std::string_view, 5> kReasons = {"BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes",
                                                      "MaxFailedIndexesExceeded", "PodFailurePolicy"};

bool is_letter(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
bool is_letter_digit_or_underscore(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

bool is_rule_name(std::string_view name) {
  return !name.empty() && is_letter(name.front()) && is_letter_digit_or_underscore(name.back()) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter_digit_or_underscore(c) || c == ',' || c == ':'; });
}

void check_name(const std::string& name, const FieldPath& path, FieldErrors& errors) {
  if (name.empty() || name.size() > kMaxNameBytes) {
    errors.push_back(invalid(path, name,
                             "invalid failure policy rule name of length " + std::to_string(name.size()) +
                                 ", the rule name must be at least 1 characters long and at most " +
                                 std::to_string(kMaxNameBytes) + " characters long"));
  }
  if (!is_rule_name(name)) {
    errors.push_back(invalid(path, name,
                             "invalid failure policy rule name '" + name +
                                 "', a failure policy rule name must start with an alphabetic character, optionally "
                                 "followed by a string of alphanumeric characters or '_,:', and must end with an "
                                 "alphanumeric character or '_'"));
  }
}

void check_rule(const json& rule, const std::set<std::string_view>& replicated_jobs, const FieldPath& path,
                FieldErrors& errors) {
  check_name(std::string(string_at(rule, {"name"})), path.child("name"), errors);
  size_t i = 0;
  for (const json& target : array_at(rule, {"targetReplicatedJobs"})) {
    const std::string_view name = string_at(target, {});
    const FieldPath at = path.child("targetReplicatedJobs").index(i++);
    if (replicated_jobs.contains(name)) continue;
    errors.push_back(invalid(at, target,
                             "invalid replicatedJob name '" + std::string(name) +
                                 "' in failure policy does not appear in .spec.ReplicatedJobs"));
  }
  i = 0;
  for (const json& reason : array_at(rule, {"onJobFailureReasons"})) {
    const std::string_view name = string_at(reason, {});
    const FieldPath at = path.child("onJobFailureReasons").index(i++);
    if (std::find(kReasons.begin(), kReasons.end(), name) != kReasons.end()) continue;
    errors.push_back(invalid(at, reason,
                             "invalid job failure reason '" + std::string(name) +
                                 "' in failure policy is not a recognized job failure reason"));
  }
}

void check_names_are_unique(const json& rules, const FieldPath& path, FieldErrors& errors) {
  std::map<std::string_view, std::vector<size_t>> by_name;
  for (size_t i = 0; i < rules.size(); ++i) by_name[string_at(rules[i], {"name"})].push_back(i);
  for (const auto& [name, indices] : by_name) {
    if (indices.size() < 2) continue;
    std::string list;
    for (const size_t index : indices) list += (list.empty() ? "" : " ") + std::to_string(index);
    errors.push_back(invalid(path.index(indices.back()).child("name"), name,
                             "rule names are not unique, rules with indices [" + list + "] all have the same name '" +
                                 std::string(name) + "'"));
  }
}

// False when the gate is off: then the other rules are not checked, as in JobSet.
bool check_restart_job(const Review& review, const json& rules, FieldErrors& errors) {
  const auto first = std::find_if(rules.begin(), rules.end(), jobs::restarts_single_job);
  if (first == rules.end()) return true;
  const FieldPath action =
      FieldPath("spec.failurePolicy.rules").index(static_cast<size_t>(first - rules.begin())).child("action");
  if (!review.settings.jobset_enabled(kRestartJobGate)) {
    errors.push_back(invalid(action, first->at("action"),
                             "RestartJob and RestartJobAndIgnoreMaxRestarts failure policy actions are not allowed "
                             "when RestartJob feature gate is disabled"));
    return false;
  }
  const json& replicated_jobs = jobs::replicated_jobs_of(review.request.object);
  if (std::any_of(replicated_jobs.begin(), replicated_jobs.end(),
                  [](const json& one) { return jobs::replicas_of(one) > kMostReplicasForSingleRestarts; })) {
    errors.push_back(invalid(action, first->at("action"),
                             "JobSet cannot have a failure policy rule with RestartJob or "
                             "RestartJobAndIgnoreMaxRestarts action and a replicated job with replicas > " +
                                 std::to_string(kMostReplicasForSingleRestarts)));
  }
  return true;
}

FieldErrors check(const Review& review) {
  const json& jobset = review.request.object;
  const json& rules = array_at(jobset, {"spec", "failurePolicy", "rules"});
  const FieldPath path("spec.failurePolicy.rules");
  FieldErrors errors;
  if (!check_restart_job(review, rules, errors)) return errors;
  const auto replicated_jobs = jobs::replicated_job_names_of(jobset);
  for (size_t i = 0; i < rules.size(); ++i) check_rule(rules[i], replicated_jobs, path.index(i), errors);
  check_names_are_unique(rules, path, errors);
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_failure_policy",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_failure_policy
