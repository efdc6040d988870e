#include "jobs/pod/group_name.h"

#include <nlohmann/json_fwd.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/field_error.h"

namespace muster::jobs {

std::optional<PodGroupNameRef> pod_group_name_of(const RuleSettings& settings, const nlohmann::json& pod) {
  const auto annotated = annotation(pod, kPodGroupName);
  if (annotated && !annotated->empty() && settings.enabled(Gate::kWorkloadIdentifierAnnotations))
    return PodGroupNameRef{*annotated, FieldPath("metadata.annotations").key(kPodGroupName), true};
  const auto labelled = label(pod, kPodGroupName);
  if (!labelled || labelled->empty()) return std::nullopt;
  return PodGroupNameRef{*labelled, FieldPath("metadata.labels").key(kPodGroupName), false};
}

}  // namespace muster::jobs
