#include "api/meta/resource_type.h"

namespace muster {

std::string full_name(const ResourceType& type) {
  std::string name(type.plural);
  if (!type.group.empty()) name.append(".").append(type.group);
  return name;
}

}  // namespace muster
