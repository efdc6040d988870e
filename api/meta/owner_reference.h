// The controller of an object. Source: apimachinery pkg/apis/meta/v1.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/shared_text.h"

namespace muster {

// The controller among metadata.ownerReferences (controller: true).
struct OwnerReference {
  SharedText api_version;  // "jobset.x-k8s.io/v1alpha2"
  SharedText kind;
  std::string name;
  std::string uid;
};
std::optional<OwnerReference> controller_of(const nlohmann::json& object);
// "jobset.x-k8s.io" of "jobset.x-k8s.io/v1alpha2"; empty for the core group's "v1".
std::string_view group_of(std::string_view api_version);

}  // namespace muster
