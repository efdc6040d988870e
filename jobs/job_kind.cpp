#include "jobs/job_kind.h"

#include <array>

namespace muster {

std::span<const JobKind* const> job_kinds() {
  static constexpr std::array<const JobKind*, 2> kinds = {&batch_job, &jobset};
  return kinds;
}

const JobKind* find_job_kind(std::string_view group, std::string_view kind) {
  for (const JobKind* known : job_kinds()) {
    if (known->group == group && known->kind == kind) return known;
  }
  return nullptr;
}

const ResourceType* job_type_of(const OwnerReference& owner) {
  const std::string_view group = group_of(owner.api_version);
  for (const ResourceType* type : {&kJobs, &kJobSets}) {
    if (type->group == group && type->kind == owner.kind) return type;
  }
  return nullptr;
}

}  // namespace muster
