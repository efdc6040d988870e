// A claim of volumeClaimPolicies has the name <template>-<jobset>, and a container must mount it; no volume of
// a pod template can have its name. Rejected, for example, if no container mounts data:
//
//   volumeClaimPolicies: [{templates: [{metadata: {name: data}, spec: {...}}]}]
//
// An existing claim with this name (with JobSet's label; muster knows no others) is used without changes and
// cannot be deleted with the JobSet, so whenDeleted must be Retain. JobSet's webhook also requires that the
// stored spec is exactly equal to the template. No claim has such a spec after the API server has set its
// defaults and a volume is bound, so muster does not require it.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/meta/names.h"
#include "api/meta/resource_type.h"
#include "jobs/jobset/jobset_fields.h"
#include "jobs/jobset/jobset_text.h"
#include "validators/validator.h"

namespace muster::validators::jobset_volume_claims {
namespace {

using nlohmann::json;

constexpr size_t kMaxClaimName = 63;

bool mounts(const json& pod_spec, std::string_view containers, std::string_view volume) {
  const json& list = array_at(pod_spec, {containers});
  return std::any_of(list.begin(), list.end(), [&](const json& container) {
    const json& volume_mounts = array_at(container, {"volumeMounts"});
    return std::any_of(volume_mounts.begin(), volume_mounts.end(),
                       [&](const json& mount) { return string_at(mount, {"name"}) == volume; });
  });
}

void check_pods(const json& jobset, const std::string& claim, FieldErrors& errors) {
  const json& replicated_jobs = jobs::replicated_jobs_of(jobset);
  bool mounted = false;
  for (size_t i = 0; i < replicated_jobs.size(); ++i) {
    const json& pod_spec = object_at(replicated_jobs[i], {"template", "spec", "template", "spec"});
    const FieldPath volumes =
        FieldPath("spec.replicatedJobs").index(i).child("template.spec.template.spec").child("volumes");
    size_t j = 0;
    for (const json& volume : array_at(pod_spec, {"volumes"})) {
      const FieldPath path = volumes.index(j++).child("name");
      if (string_at(volume, {"name"}) != claim) continue;
      errors.push_back(invalid(path, claim, "volume name conflicts with VolumeClaimPolicy template name: " + claim));
    }
    mounted = mounted || mounts(pod_spec, "initContainers", claim) || mounts(pod_spec, "containers", claim);
  }
  if (mounted) return;
  errors.push_back(
      {"spec.replicatedJobs", FieldErrorType::kInvalid, jobs::print_replicated_jobs_of(jobset, replicated_jobs),
       "replicatedJob containers don't have a matching volumeMount: " + claim + " from VolumeClaimPolicies"});
}

void check_retention(const Review& review, const json& policy, const std::string& claim, const FieldPath& path,
                     FieldErrors& errors) {
  const std::string_view name = string_at(review.request.object, {"metadata", "name"});
  const std::string_view when_deleted = string_at(policy, {"retentionPolicy", "whenDeleted"});
  if (name.empty() || when_deleted.empty() || when_deleted == "Retain") return;
  const OwnerFacts* present = review.view.owner(kPersistentVolumeClaims.group, kPersistentVolumeClaims.kind,
                                                review.request.namespace_, jobs::claim_name(name, claim));
  if (present == nullptr) return;
  errors.push_back(invalid(path.child("retentionPolicy").child("whenDeleted"), when_deleted,
                           "retentionPolicy must be retain when PVC exists"));
}

FieldErrors check(const Review& review) {
  const json& jobset = review.request.object;
  const size_t jobset_name_length = jobs::jobset_name_or_alike(jobset).size();
  FieldErrors errors;
  std::set<std::string> seen;
  const json& policies = array_at(jobset, {"spec", "volumeClaimPolicies"});
  for (size_t i = 0; i < policies.size(); ++i) {
    const FieldPath policy = FieldPath("spec.volumeClaimPolicies").index(i);
    const FieldPath templates = policy.child("template");
    size_t j = 0;
    for (const json& claim_template : array_at(policies[i], {"templates"})) {
      const FieldPath path = templates.index(j++).child("name");
      const std::string claim(string_at(claim_template, {"metadata", "name"}));
      if (!seen.insert(claim).second) {
        errors.push_back(invalid(path, claim, "names must be unique for VolumeClaimPolicies template"));
      }
      for (const std::string& complaint : is_dns1123_subdomain(claim))
        errors.push_back(invalid(path, claim, complaint));
      if (claim.size() + 1 + jobset_name_length > kMaxClaimName) {
        errors.push_back(invalid(path, claim, "VolumeClaimPolicies template name is too long"));
      }
      check_pods(jobset, claim, errors);
      check_retention(review, policies[i], claim, policy, errors);
    }
  }
  return errors;
}

}  // namespace

extern const Validator rule = {
    .name = "jobset_volume_claims",
    .matches = {{"jobset.x-k8s.io", "jobsets"}},
    .operations = {Operation::kCreate},
    .check = check,
    .origin = RuleOrigin::kJobSet,
};

}  // namespace muster::validators::jobset_volume_claims
