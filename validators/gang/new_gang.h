// What warnings about gangs begin with.
#pragma once

#include <optional>
#include <vector>

#include "jobs/group_scheduling.h"
#include "validators/validator.h"

namespace muster::validators {

struct NewGang {
  const jobs::JobKind* kind;
  jobs::GroupConfig config;
  std::vector<jobs::ConstPodTemplateRef> targets;  // refer to the object of the request
};

// The gang that a request creates. nullopt: it creates none.
inline std::optional<NewGang> new_gang(const Review& review) {
  const jobs::JobKind* kind = jobs::find_job_kind(review.request.group, review.request.kind);
  if (kind == nullptr || review.request.operation != Operation::kCreate) return std::nullopt;
  std::optional<jobs::GroupConfig> config = jobs::group_config(*kind, review.request.object);
  if (!config) return std::nullopt;
  std::vector<jobs::ConstPodTemplateRef> targets = kind->read_pod_templates(review.request.object);
  std::erase_if(targets, [&](const jobs::ConstPodTemplateRef& ref) { return !config->has_target(ref.name); });
  return NewGang{kind, *std::move(config), std::move(targets)};
}

}  // namespace muster::validators
