#include "jobs/jobset/jobset_text.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/typed_text.h"

namespace muster::jobs {
namespace {

constexpr TypedField kJobSpecFields[] = {
    {"parallelism"},
    {"completions"},
    {"activeDeadlineSeconds"},
    {"podFailurePolicy"},
    {"successPolicy"},
    {"backoffLimit"},
    {"backoffLimitPerIndex"},
    {"maxFailedIndexes"},
    {"selector"},
    {"manualSelector"},
    {"template", &kTypedPodTemplate, "{}"},
    {"ttlSecondsAfterFinished"},
    {"completionMode"},
    {"suspend"},
    {"podReplacementPolicy"},
    {"managedBy"},
};
constexpr TypedShape kJobSpec{kJobSpecFields};

constexpr TypedField kJobTemplateFields[] = {{"metadata", &kTypedMetadata, "{}"}, {"spec", &kJobSpec, "{}"}};
constexpr TypedShape kJobTemplate{kJobTemplateFields};

constexpr TypedField kDependencyFields[] = {{"name", nullptr, "\"\""}, {"status", nullptr, "\"\""}};
constexpr TypedShape kDependency{kDependencyFields};

constexpr TypedField kReplicatedJobFields[] = {
    {"name", nullptr, "\"\""},   {"groupName"}, {"template", &kJobTemplate, "{}"}, {"replicas"},
    {"dependsOn", &kDependency},
};
constexpr TypedShape kReplicatedJob{kReplicatedJobFields};

}  // namespace

std::string print_replicated_jobs(const nlohmann::json& replicated_jobs) {
  return print_typed(replicated_jobs, kReplicatedJob);
}

std::string print_replicated_jobs_of(const nlohmann::json& jobset, const nlohmann::json& list) {
  const nlohmann::json* present = find_path(jobset, {"spec", "replicatedJobs"});
  return present && present->is_array() ? print_replicated_jobs(list) : "null";
}

}  // namespace muster::jobs
