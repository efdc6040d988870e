#include "reconcilers/job/job_indexes.h"

#include <array>

#include "api/meta/constants.h"
#include "jobs/job_kind.h"
#include "kinds/described_job.h"
#include "kinds/kind_description.h"

namespace muster::reconcilers {
namespace {

using state::NamespacedName;

// The Jobs of a JobSet have a separate index: they are many.
std::optional<NamespacedName> described_parent_of(const TypedObject& object) {
  const bool can_be_part = std::holds_alternative<JobPtr>(object) || std::holds_alternative<JobSetPtr>(object) ||
                           std::holds_alternative<DescribedJobPtr>(object);
  if (!can_be_part) return std::nullopt;
  const ObjectMeta& meta = meta_of(object);
  const auto& controller = meta.controller;
  if (!controller || find_described_kind(group_of(controller->api_version), controller->kind) == nullptr)
    return std::nullopt;
  return NamespacedName{meta.ns, controller->uid};
}

std::optional<NamespacedName> nth_prebuilt_workload_of(const TypedObject& object, size_t nth) {
  const ObjectMeta& meta = meta_of(object);
  for (const std::string_view name : {meta.annotation(kPrebuiltWorkload), meta.label(kPrebuiltWorkload)}) {
    if (name.empty() || jobs::find_job_kind(type_of(object)) == nullptr) continue;
    if (nth-- == 0) return NamespacedName{meta.ns, name};
  }
  return std::nullopt;
}

std::optional<NamespacedName> described_kind_of(const TypedObject& object) {
  if (!std::holds_alternative<DescribedJobPtr>(object)) return std::nullopt;
  return NamespacedName{meta_of(object).ns, type_of(object).plural};
}

}  // namespace

const state::Index<TypedObject> kPartsByDescribedJob{.key = described_parent_of};
const state::Index<TypedObject> kJobsByPrebuiltWorkload{.nth_key = nth_prebuilt_workload_of};
const state::Index<TypedObject> kDescribedJobsByKind{.key = described_kind_of};

}  // namespace muster::reconcilers
