// The parts of validate_configuration, one per block of the file. Each reads the
// v1beta2 form with defaults and adds to `errors`. Part of api/config/configuration.h's
// implementation.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/config/configuration_schema.h"
#include "api/config/feature_gates.h"
#include "api/meta/field_error.h"

namespace muster {

// configuration_validate.cpp
void validate_wait_for_pods_ready(const nlohmann::json& configuration, FieldErrors& errors);
void validate_unscheduled_timeout(const nlohmann::json& configuration, const FeatureGates& gates, FieldErrors& errors);
// configuration_validate_integrations.cpp: frameworks, selectors, MultiKueue.
void validate_integrations(const nlohmann::json& configuration, FieldErrors& errors);
void validate_managed_namespaces(const nlohmann::json& configuration, FieldErrors& errors);
void validate_local_queue_metrics(const nlohmann::json& configuration, const FeatureGates& gates, FieldErrors& errors);
void validate_multikueue(const nlohmann::json& configuration, FieldErrors& errors);
// configuration_validate_process.cpp: certificates, TLS, the visibility server, metrics' labels.
void validate_cert_management(const nlohmann::json& configuration, FieldErrors& errors);
void validate_tls(const nlohmann::json& configuration, FieldErrors& errors);
void validate_visibility_server(const nlohmann::json& configuration, FieldErrors& errors);
void validate_custom_labels(const nlohmann::json& configuration, FieldErrors& errors);
// configuration_validate_resources.cpp: transformations, quota checks, device classes.
void validate_resources(const nlohmann::json& configuration, const FeatureGates& gates, FieldErrors& errors);

// The value at a dotted path as Go prints it, wrapped in an error.
FieldError invalid_setting(std::string_view path, const nlohmann::json& value, std::string detail);
// "must be greater than or equal to 0", shown with the value.
void check_not_negative(const nlohmann::json& block, std::string_view block_path, const char* field,
                        FieldErrors& errors);

}  // namespace muster
