#include "reconcilers/command.h"

namespace muster::reconcilers {

nlohmann::json with_version(const ObjectMeta& meta, nlohmann::json patch) {
  if (meta.resource_version != 0) patch["metadata"]["resourceVersion"] = std::to_string(meta.resource_version);
  return patch;
}

}  // namespace muster::reconcilers
