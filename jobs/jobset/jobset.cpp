#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/counts.h"
#include "jobs/edit.h"
#include "jobs/job_kind.h"

namespace muster {
namespace {

using nlohmann::json;

// A JobSet is stopped by one patch, so there is no state between.
bool suspended(const json& job) {
  return bool_at(job, {"spec", "suspend"});
}

// The schema has int32 here; what a request claims beyond that must not overflow.
int64_t within_int32(int64_t value) {
  return std::clamp<int64_t>(value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
}

template <class Json>
std::vector<BasicPodTemplateRef<Json>> templates(Json& job) {
  std::vector<BasicPodTemplateRef<Json>> found;
  Json* list = existing_array(job, {"spec", "replicatedJobs"});
  if (!list) return found;
  const FieldPath root("spec.replicatedJobs");
  for (size_t i = 0; i < list->size(); ++i) {
    Json& replicated = (*list)[i];
    Json* pod_template = existing_object(replicated, {"template", "spec", "template"});
    if (!pod_template) continue;
    const int64_t replicas = within_int32(int_at(replicated, {"replicas"}).value_or(1));
    const int64_t pods = within_int32(pods_of_job_spec(object_at(replicated, {"template", "spec"})));
    found.push_back({string_at(replicated, {"name"}), root.index(i).child("template").child("spec").child("template"),
                     pod_template, replicas * pods});
  }
  return found;
}

}  // namespace

const JobKind jobset = {
    .framework = "jobset.x-k8s.io/jobset",
    .group = "jobset.x-k8s.io",
    .version = "v1alpha2",
    .kind = "JobSet",
    .resource = "jobsets",
    .default_manager = "jobset.sigs.k8s.io/jobset-controller",
    .suspended = suspended,
    .stopped = suspended,
    .set_suspend = set_suspend_field,
    .pod_templates = templates<json>,
    .read_pod_templates = templates<const json>,
};

}  // namespace muster
