// metadata.managedFields in JSON text: many small values, more than half of what the API
// server sends of an object, and read here for Jobs under review only.
#pragma once

#include <string>
#include <string_view>

namespace muster {

// The text without every member of that name whose value is an array, as the API server
// writes them: without white space. Valid JSON stays valid and is else the same; of other
// text nothing is promised. In time proportional to the text.
std::string without_managed_fields(std::string_view json);

}  // namespace muster
