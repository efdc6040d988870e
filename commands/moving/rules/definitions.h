// CustomResourceDefinitions of Kueue and JobSet, taken over without losing a field: the schema that is there keeps all
// that it has, and gets the fields that only muster's has. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace muster::commands {

// Fields of muster's definition that `live` lacks, as "v1beta2: spec.flavorFallback", in the versions that both have.
std::vector<std::string> missing_fields(const nlohmann::json& live, const nlohmann::json& own);

// `live` with these fields, and the label by which muster knows a definition as its own. Equal to `live` where there is
// nothing to add. Rules of CEL come along with the fields that they are of; no rule is added to what is there, so that
// no stored object becomes invalid.
nlohmann::json merged_definition(const nlohmann::json& live, const nlohmann::json& own);

// The version that is stored; empty: none is marked.
std::string storage_version(const nlohmann::json& definition);
// spec.versions with that version stored. The definition serves it.
nlohmann::json versions_storing(const nlohmann::json& definition, const std::string& version);

}  // namespace muster::commands
