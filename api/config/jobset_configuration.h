// The configuration file of JobSet's own controller (config.jobset.x-k8s.io/v1alpha1), for clusters where muster takes
// its role. Its feature gates act. The rest configures a process, and muster's is configured by Kueue's Configuration,
// which has fields of the same names.
//
// Pure. Source: JobSet's configuration API, v0.13.0.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/feature_gates.h"
#include "api/meta/field_error.h"
#include "base/result.h"

namespace muster {

inline constexpr std::string_view kJobSetConfigurationApiVersion = "config.jobset.x-k8s.io/v1alpha1";

struct JobSetConfiguration {
  FeatureGateMap feature_gates;
  // Paths of what else the file says, alphabetical.
  std::vector<std::string> idle;

  // One sentence about what is idle; empty: nothing is.
  std::string idle_settings() const;
};

bool is_jobset_configuration(const nlohmann::json& document);
// As strict as JobSet reads it, so unknown fields are errors. Values of what is idle are not read.
Result<JobSetConfiguration, FieldErrors> read_jobset_configuration(const nlohmann::json& document);
// Of the text of a file; what is not such a file is an error, too.
Result<JobSetConfiguration> jobset_configuration_of_text(std::string_view text);

}  // namespace muster
