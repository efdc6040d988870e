// The strict reading of Kueue's Configuration: from the document as written to the
// values of one version's schema, before defaults. Part of api/config/configuration.h's
// implementation.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/config/configuration_schema.h"

namespace muster {

struct DecodedConfiguration {
  // Known fields only, as Go would print them: canonical durations and quantities,
  // zero values where the schema prints them, nulls and empty optionals left out.
  nlohmann::json value;
  // Paths of settings that the document has, in its order (which is alphabetical).
  std::vector<std::string> set;
  // Everything that makes the document unusable, each worded as Kueue words it. A
  // value of a wrong type hides unknown fields, as it does there.
  std::string type_error;
  std::vector<std::string> unknown_fields;  // "unknown field \"a.b\""
  // What to do about them, for people; empty when nothing helpful is known.
  std::string hint;
};

// `document` must be an object.
DecodedConfiguration decode_configuration(const nlohmann::json& document, ConfigVersion version);

}  // namespace muster
