// Kubernetes' rules for labels, annotations, selectors and conditions anywhere in an object (apimachinery
// pkg/apis/meta/v1/validation), with its messages. Values of a type that the schema does not allow are skipped: the
// schema reports them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "api/meta/field_error.h"

namespace muster {

// One key of labels; `field` is where the whole map stands, as Kubernetes names it.
FieldErrors check_label_name(const std::string& field, std::string_view name);
FieldErrors check_labels(const std::string& field, const nlohmann::json& labels);
FieldErrors check_annotations(const std::string& field, const nlohmann::json& annotations);
// A metav1.LabelSelector; null has nothing wrong with it.
FieldErrors check_label_selector(const FieldPath& path, const nlohmann::json& selector);
// status.conditions: unique types, and each condition by itself.
FieldErrors check_conditions(const FieldPath& path, const nlohmann::json& conditions);

}  // namespace muster
