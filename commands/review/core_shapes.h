// The shape of Jobs, CronJobs and pods, and of the Jobs of a JobSet, as the API server checks it when they are created:
// the kind itself, the fields and their types, what is required, and words of which there are few. For `muster review`,
// which has no API server; names, counts and quantities are in kubernetes_rules.h. Pure.
//
// Source: kubernetes pkg/apis/batch/validation, pkg/apis/core/validation (1.36), with the types of
// api/review/pod_schema.h.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "api/config/rule_settings.h"
#include "api/meta/field_error.h"

namespace muster::commands {

struct ShapeFindings {
  FieldErrors errors{};
  FieldErrors unknown_fields{};  // kubectl refuses them (fieldValidation: Strict)
};

// Of other kinds only the pod templates are read, and only their types, where no webhook does that: `settings` say
// which kinds are enabled.
ShapeFindings check_core_shape(const nlohmann::json& object, const RuleSettings& settings);

// `no matches for kind "job" in version "batch/v1"; did you mean "Job"?` nullopt: an API server can have the kind.
std::optional<std::string> why_no_kind(const nlohmann::json& object);

}  // namespace muster::commands
