#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/counts.h"
#include "jobs/edit.h"
#include "jobs/job_kind.h"

namespace muster {
namespace {

using nlohmann::json;

bool suspended(const json& job) {
  return bool_at(job, {"spec", "suspend"});
}

bool stopped(const json& job) {
  return suspended(job) && annotation(job, kStoppingAnnotation) != "true";
}

template <class Json>
std::vector<BasicPodTemplateRef<Json>> templates(Json& job) {
  Json* pod_template = existing_object(job, {"spec", "template"});
  if (!pod_template) return {};
  return {{"main", FieldPath("spec.template"), pod_template, pods_of_job_spec(object_at(job, {"spec"}))}};
}

}  // namespace

const JobKind batch_job = {
    .framework = "batch/job",
    .group = "batch",
    .version = "v1",
    .kind = "Job",
    .resource = "jobs",
    .default_manager = "kubernetes.io/job-controller",
    .suspended = suspended,
    .stopped = stopped,
    .set_suspend = set_suspend_field,
    .pod_templates = templates<json>,
    .read_pod_templates = templates<const json>,
};

}  // namespace muster
