// A gang specifies how long its pods can take to start: a whole number of seconds, at least 1 (KEP-498's
// timeoutAfterSeconds). Rejected, for example:
//
//   groupSchedulingConfig: {timeoutAfterSeconds: 0}
//
// Kubernetes' own deadlines run while the gang waits. A deadline that ends first is allowed, and the user gets
// a warning.
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "validators/gang/new_gang.h"

namespace muster::validators::group_scheduling_timeout {
namespace {

using nlohmann::json;

FieldErrors check(const Review& review) {
  const jobs::JobKind* kind = jobs::find_job_kind(review.request.group, review.request.kind);
  if (kind == nullptr) return {};
  return jobs::read_group_scheduling(*kind, review.request.object).timeout_errors;
}

std::vector<std::string> warn(const Review& review) {
  const std::optional<NewGang> gang = new_gang(review);
  if (!gang) return {};
  const jobs::GroupConfig& config = gang->config;
  std::vector<std::string> warnings;
  auto compare = [&](const std::string& field, std::optional<int64_t> deadline) {
    if (!deadline || *deadline > config.timeout_seconds) return;
    warnings.push_back(field + " is " + std::to_string(*deadline) +
                       " s and also counts the wait for the group, which may last " +
                       std::to_string(config.timeout_seconds) + " s: make it longer than the group's timeout");
  };
  for (const jobs::ConstPodTemplateRef& ref : gang->targets) {
    compare(ref.path.child("spec").child("activeDeadlineSeconds"),
            int_at(*ref.template_json, {"spec", "activeDeadlineSeconds"}));
  }
  compare("spec.activeDeadlineSeconds", int_at(review.request.object, {"spec", "activeDeadlineSeconds"}));
  const json& replicated_jobs = array_at(review.request.object, {"spec", "replicatedJobs"});
  for (size_t i = 0; gang->kind == &jobs::jobset && i < replicated_jobs.size(); ++i) {
    if (!config.has_target(string_at(replicated_jobs[i], {"name"}))) continue;
    compare(FieldPath("spec.replicatedJobs").index(i).child("template.spec.activeDeadlineSeconds"),
            int_at(replicated_jobs[i], {"template", "spec", "activeDeadlineSeconds"}));
  }
  return warnings;
}

}  // namespace

extern const Validator rule = {
    .name = "group_scheduling_timeout",
    .matches = {{"batch", "jobs"}, {"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
    .origin = RuleOrigin::kMuster,
};

}  // namespace muster::validators::group_scheduling_timeout
