// Jobs are named <jobset>-<replicatedJob>-<index>, pods <job>-<index>-<5 characters>;
// these names, and the group's, are DNS labels, which end at 63 characters. Rejected,
// for example, a JobSet whose name has 60 characters, or:
//
//   replicatedJobs: [{name: Leader, ...}]
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/jobset/jobset_fields.h"
#include "validators/validator.h"

namespace muster::validators::jobset_names {
namespace {

using nlohmann::json;

constexpr std::string_view kGroupTooLong =
    ".spec.replicatedJob[].groupName is too long, must be less than 63 characters";
constexpr std::string_view kJobTooLong =
    "JobSet name is too long, job names generated for this JobSet will exceed 63 characters";
constexpr std::string_view kPodTooLong =
    "JobSet name is too long, pod names generated for this JobSet will exceed 63 characters";

// The characters that the API server adds to the name of a Job's pod.
constexpr std::string_view kPodSuffix = "-abcde";

void check_one(const std::string& jobset_name, const json& replicated_job, const FieldPath& path, FieldErrors& errors) {
  const std::string_view group = string_at(replicated_job, {"groupName"});
  for (const std::string& complaint : jobs::dns_label_complaints(group, kGroupTooLong)) {
    errors.push_back(invalid(path.child("groupName"), group, complaint));
  }
  // The last index is the longest.
  const std::string job =
      jobs::child_job_name(jobset_name, string_at(replicated_job, {"name"}), jobs::replicas_of(replicated_job) - 1);
  for (const std::string& complaint : jobs::dns_label_complaints(job, kJobTooLong)) {
    errors.push_back(invalid(path.child("name"), job, complaint));
  }
  const std::optional<int64_t> completions = jobs::completions_of(replicated_job);
  if (!jobs::is_indexed(replicated_job) || !completions) return;
  const std::string pod = job + "-" + std::to_string(*completions - 1) + std::string(kPodSuffix);
  for (const std::string& complaint : jobs::dns_label_complaints(pod, kPodTooLong)) {
    errors.push_back(invalid(path.child("name"), job, complaint));
  }
}

FieldErrors check(const Review& review) {
  const json& jobset = review.request.object;
  const std::string name = jobs::jobset_name_or_alike(jobset);
  FieldErrors errors;
  size_t i = 0;
  for (const json& replicated_job : jobs::replicated_jobs_of(jobset)) {
    check_one(name, replicated_job, FieldPath("spec.replicatedJobs").index(i++), errors);
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_names",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_names
