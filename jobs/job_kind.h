// One struct of functions per job kind that muster knows; jobs/<kind>.cpp fills it.
// Rules and reconcilers speak of jobs only through it.
//
// The functions accept any JSON object: what has the wrong shape reads as absent
// and is left for the API server's schema to refuse.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "api/meta/owner_reference.h"
#include "api/meta/resource_type.h"

namespace muster {

// A pod template inside a job: where it stands and what it is.
template <class Json>
struct BasicPodTemplateRef {
  std::string_view name;  // pod set name: "main", or the replicatedJob's; points into the object
  FieldPath path;         // "spec.template", "spec.replicatedJobs[0].template.spec.template"
  Json* template_json;    // never null; metadata and spec inside
  int64_t count;          // pods of the pod set (parallelism, completions and replicas considered)
};
using PodTemplateRef = BasicPodTemplateRef<nlohmann::json>;             // for editing
using ConstPodTemplateRef = BasicPodTemplateRef<const nlohmann::json>;  // for reading

struct JobKind {
  std::string_view framework;  // Kueue's name for the integration: "batch/job"
  std::string_view group, version, kind, resource;
  // The controller that runs such a job unless spec.managedBy names another.
  std::string_view default_manager;
  // Of the value of spec.managedBy, empty when it is not set.
  bool is_managed_by(std::string_view manager) const { return manager.empty() || manager == default_manager; }

  // spec.suspend as written.
  bool (*suspended)(const nlohmann::json& job);
  // Suspended for good: a Job that Kueue's three-step stop has not finished with
  // (annotation kueue.x-k8s.io/stopping) is suspended, but not stopped.
  bool (*stopped)(const nlohmann::json& job);
  void (*set_suspend)(nlohmann::json& job, bool suspend);
  // The templates of a job, in order; entries without one are left out. Neither form changes the job.
  std::vector<PodTemplateRef> (*pod_templates)(nlohmann::json& job);
  std::vector<ConstPodTemplateRef> (*read_pod_templates)(const nlohmann::json& job);
};

// All kinds that muster knows, enabled or not.
std::span<const JobKind* const> job_kinds();
// nullptr when muster does not know the kind.
const JobKind* find_job_kind(std::string_view group, std::string_view kind);
// &kJobs or &kJobSets, whose objects such an owner is one of; nullptr: neither.
const ResourceType* job_type_of(const OwnerReference& owner);

extern const JobKind batch_job;
extern const JobKind jobset;

}  // namespace muster
