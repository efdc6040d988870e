// Whether the API server's definition of a kind has what a description says of it. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "api/meta/field_error.h"
#include "kinds/kind_description.h"

namespace muster {

// `definition` is the CustomResourceDefinition of the kind. An error names the field of the description and the path
// that the schema does not have, or that the version is not served. Where a schema takes any field, so does this.
FieldErrors contradictions(const KindDescription& kind, const nlohmann::json& definition);

}  // namespace muster
