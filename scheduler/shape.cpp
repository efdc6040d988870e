#include "scheduler/shape.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "base/encoding.h"
#include "scheduler/state.h"

namespace muster::scheduler {
namespace {

using nlohmann::json;

// As written, not as amounts: another spelling of the same quantity is another shape. That costs an evaluation and is
// never wrong.
json containers_shape(const json& pod_spec, const char* list) {
  json shapes = json::array();
  for (const json& container : array_at(pod_spec, {list})) {
    shapes.push_back({object_at(container, {"resources", "requests"}), array_at(container, {"ports"})});
  }
  return shapes;
}

// The fields that select flavors, apart from the counted requests.
std::string spec_digest(const PodSpec& spec) {
  const json pod_spec = json::parse(spec.text, nullptr, false);
  json shape = {containers_shape(pod_spec, "initContainers"), containers_shape(pod_spec, "containers")};
  for (const char* key : {"nodeSelector", "affinity", "tolerations", "runtimeClassName", "priority",
                          "topologySpreadConstraints", "overhead", "resourceClaims"}) {
    const json* value = find_path(pod_spec, {key});
    shape.push_back(value == nullptr ? json() : *value);
  }
  return sha256_hex(shape.dump(-1, ' ', false, json::error_handler_t::replace));
}

uint64_t hex_to_int(std::string_view hex) {
  uint64_t value = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), value, 16);
  return value;
}

}  // namespace

const std::string& Shapes::digest_of(const PodSpecPtr& spec) {
  const auto it = specs_.find(spec.get());
  // Workloads of one job template share their PodSpec (state/template_pool.h). An address can be used again after its
  // spec is gone, which the weak pointer shows.
  if (it != specs_.end() && it->second.spec.lock() == spec) return it->second.digest;
  // Each sweep pays for itself: it comes after as many additions as entries were left.
  if (specs_.size() >= sweep_at_) {
    std::erase_if(specs_, [](const auto& known) { return known.second.spec.expired(); });
    sweep_at_ = 2 * specs_.size() + 1024;
  }
  Known& known = specs_[spec.get()];
  known = {spec, spec_digest(*spec)};
  return known.digest;
}

// Everything that an evaluation reads of the Workload itself. 128 bits of a SHA-256, so that no user can make a
// Workload that is parked and woken with the Workloads of another user.
Shape Shapes::shape_of(const WorkloadState& workload) {
  std::string text = std::to_string(workload.object->priority);
  for (size_t i = 0; i < workload.pod_sets.size(); ++i) {
    const PodSet& pod_set = workload.object->pod_sets[i];
    text += '/' + pod_set.name + ':' + std::to_string(workload.pod_sets[i].count) + ':' +
            (pod_set.min_count ? std::to_string(*pod_set.min_count) : "") + ':' +
            (pod_set.asks_for_topology ? pod_set.topology_request_text : "") + ':' +
            digest_of(pod_set.pod_template.spec) + capacity_.text_of(*workload.object, pod_set);
    for (const ResourceAmount& request : workload.pod_sets[i].per_pod)
      text += ',' + std::to_string(request.resource) + '=' + std::to_string(request.amount);
  }
  // Flavors that have failed for the Workload are not tried again (KEP-2560).
  for (const FlavorId flavor : workload.failed) text += '!' + std::to_string(flavor);
  const std::string digest = sha256_hex(text);
  return {hex_to_int(std::string_view(digest).substr(0, 16)), hex_to_int(std::string_view(digest).substr(16, 16))};
}

}  // namespace muster::scheduler
