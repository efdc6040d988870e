// The schemas below a schema, and what every object has in common: ObjectMeta, which definitions of kinds
// do not spell out.
// Source: apimachinery pkg/apis/meta/v1/types.go, pkg/api/validation/objectmeta.go (1.36).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "api/meta/field_error.h"

namespace muster::manifests {

// The schema of a property or of a map's entry; nullptr when the schema names none. `root`: `schema` is
// that of a whole object. The pointer lives as long as `schema`.
const nlohmann::json* property_schema(const nlohmann::json& schema, const std::string& name, bool root);

// Whether the name, labels and annotations of an object are such as the API server takes. The name of an
// object that is stored cannot be wrong; `old` is null when there is none.
FieldErrors check_metadata(const nlohmann::json& object, const nlohmann::json& old);

}  // namespace muster::manifests
