// The name of the group that a pod belongs to: an annotation, or a label, which holds at most 63 characters.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/config/rule_settings.h"

namespace muster::jobs {

struct PodGroupNameRef {
  std::string_view name;  // points into the pod; never empty
  std::string field;      // where it was found
  bool annotated = false;
};
// The annotation comes first; without the gate WorkloadIdentifierAnnotations only the label counts.
std::optional<PodGroupNameRef> pod_group_name_of(const RuleSettings& settings, const nlohmann::json& pod);

}  // namespace muster::jobs
