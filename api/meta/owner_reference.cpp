#include "api/meta/owner_reference.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"

namespace muster {

using nlohmann::json;

std::string_view group_of(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

std::optional<OwnerReference> controller_of(const json& object) {
  for (const json& reference : array_at(object, {"metadata", "ownerReferences"})) {
    if (!bool_at(reference, {"controller"})) continue;
    return OwnerReference{std::string(string_at(reference, {"apiVersion"})),
                          std::string(string_at(reference, {"kind"})), std::string(string_at(reference, {"name"})),
                          std::string(string_at(reference, {"uid"}))};
  }
  return std::nullopt;
}

}  // namespace muster
