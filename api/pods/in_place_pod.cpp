#include "api/pods/in_place_pod.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/codec/json.h"
#include "base/whole_number.h"

namespace muster {

InPlacePodPtr read_in_place_pod(const nlohmann::json& object) {
  auto pod = std::make_shared<InPlacePod>();
  pod->meta = read_meta(object);
  pod->phase = string_at(object, {"status", "phase"});
  pod->attempt = whole_number<int32_t>(pod->meta.annotation(kInPlaceRestartAttemptAnnotation));
  if (pod->attempt && *pod->attempt < 0) pod->attempt.reset();
  for (const std::string_view statuses : {"initContainerStatuses", "containerStatuses"}) {
    for (const nlohmann::json& status : array_at(object, {"status", statuses}))
      pod->container_restarts = std::max(pod->container_restarts, int32_at(status, {"restartCount"}));
  }
  return pod;
}

}  // namespace muster
