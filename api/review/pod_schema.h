// Which fields Job and pod templates have, and of which JSON type each is: for templates that the API
// server stores as they come, because the CRD around them keeps unknown fields.
//
// Source: the Go types of Kubernetes (batch/v1 CronJobSpec and what is below it), written to
// pod_schema.json by test/cluster/webhooks/pod_schema_test.go, which also compares. A newer API server can know
// more fields, so an unknown one is no error.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"

namespace muster {

struct SchemaFindings {
  FieldErrors errors;                        // known fields of a wrong type
  std::vector<std::string> unknown;          // paths of fields that no template has
  size_t more_errors = 0, more_unknown = 0;  // beyond kMostFindings of each
};
inline constexpr size_t kMostFindings = 100;

// Adds to `findings` what is wrong in `value`. Types of the schema: "JobTemplateSpec", "PodSpec".
// Null counts as left out, everywhere. Linear in the size of `value`, and no deeper than the schema.
// Any thread.
void check_template(std::string_view type, const nlohmann::json& value, const FieldPath& path,
                    SchemaFindings& findings);

}  // namespace muster
