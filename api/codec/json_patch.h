// RFC 6902 patches, as AdmissionReview carries them.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace muster {

// The operations that turn `before` into `after`: only add, remove and replace,
// minimal per field; in arrays a common head and tail stay untouched, so that an
// insertion is one "add". An empty array when nothing differs. The paths escape
// '~' as "~0" and then '/' as "~1".
nlohmann::json json_diff(const nlohmann::json& before, const nlohmann::json& after);

}  // namespace muster
