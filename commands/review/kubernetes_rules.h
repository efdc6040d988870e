// What the API server checks of Kubernetes' own kinds of jobs before a validating webhook sees them, for
// `muster review` and `muster simulate`, which have no API server: names, counts and quantities. The schemas of other
// kinds are in manifests/schema.h. Pure.
//
// Source: kubernetes pkg/apis/batch/validation, pkg/apis/apps/validation, pkg/apis/core/validation (1.36).
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/meta/field_error.h"

namespace muster::commands {

// Of objects of other kinds than jobs and Kubernetes' own nothing is checked. `old`: null, but for an update.
FieldErrors check_by_kubernetes_rules(const nlohmann::json& object, const nlohmann::json& old);

}  // namespace muster::commands
