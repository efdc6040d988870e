// What a recording keeps of an object: what decisions read. Everything else is closed: a string becomes another one, so
// that no secret of a user is in the file, and so that what was equal is still equal.
//
// The lists of what is kept are in redaction.cpp, redaction_parts.cpp and redaction_described.cpp, kind by kind and
// field by field: a field that is not in them is closed, and so are the fields that Kubernetes will have next year.
// Numbers and booleans are kept everywhere, and so are the names of fields, labels and annotations. The status is kept,
// because decisions are made from it.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "api/meta/resource_type.h"

namespace muster::recording {

// What stands for a closed string; an empty one stays empty and is not asked about.
using Close = std::function<std::string(std::string_view)>;

// Of an object, or of a patch of one. Nothing deeper than 500 levels is kept.
nlohmann::json redacted(const ResourceType& type, const nlohmann::json& object, const Close& close);

// "~" and 24 digits: HMAC-SHA-256 with the key of a recording, which is in no file.
Close keyed_hash(std::string key);
// "~" for all: to compare decisions, of which one was made from hashes.
Close same_for_all();

}  // namespace muster::recording
