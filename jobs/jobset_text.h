// A JobSet's replicatedJobs as the typed API sees them: JSON objects in which nobody
// wrote a field, and those in which the field is empty, are the same there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace muster {

// As the typed API prints the list: fields in the order of the API's documentation,
// name first, without what is empty. Error messages show a list in this form.
std::string print_replicated_jobs(const nlohmann::json& replicated_jobs);

// Whether two values say the same. Quantities of resources are compared by value.
bool same_in_typed_api(const nlohmann::json& one, const nlohmann::json& other);

}  // namespace muster
