// A job can name a Workload that exists already instead of having one made for it:
// by the annotation kueue.x-k8s.io/prebuilt-workload-name, or by the label of the
// same key, which holds at most 63 characters.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/config/rule_settings.h"
#include "api/meta/object_meta.h"

namespace muster::jobs {

struct PrebuiltWorkloadName {
  std::string_view name;  // points into the object
  std::string field;      // where it was found: "metadata.labels[kueue.x-k8s.io/prebuilt-workload-name]"
};

// The name that counts. With the gate WorkloadIdentifierAnnotations the annotation
// comes first; without it the label does, and the annotation only serves names that
// are too long for a label. An empty annotation counts as none, an empty label does
// not: it is a name, though never a valid one.
std::optional<PrebuiltWorkloadName> prebuilt_workload_name_of(const RuleSettings& settings,
                                                              const nlohmann::json& object);
std::optional<PrebuiltWorkloadName> prebuilt_workload_name_of(const RuleSettings& settings, const ObjectMeta& meta);

}  // namespace muster::jobs
