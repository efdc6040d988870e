#include "test/support/plain_pod_template.h"

#include <nlohmann/json.hpp>

namespace muster::test {

PodTemplate plain_pod_template() {
  const nlohmann::json pod_template = {{"spec", {{"containers", {{{"name", "main"}}}}}}};
  return read_pod_template(pod_template);
}

}  // namespace muster::test
