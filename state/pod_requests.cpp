#include "state/pod_requests.h"

#include <algorithm>

#include "state/demand/demand_source.h"

namespace muster::state {
namespace {

bool excluded(std::string_view resource, const std::vector<std::string>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](const std::string& prefix) { return resource.starts_with(prefix); });
}

const ResourceTransformation* find_transformation(std::string_view resource, const QueueSettings& settings) {
  const auto& all = settings.transformations;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.input == resource; });
  return found == all.end() ? nullptr : &*found;
}

// A negative factor is an allowance: it takes from what the other transformations add to a resource, but never from
// what a pod requests itself.
ResourceList transformed(const ResourceList& requests, const QueueSettings& settings) {
  ResourceList result, generated;
  for (const auto& [name, quantity] : requests) {
    const ResourceTransformation* transformation = find_transformation(name, settings);
    if (transformation == nullptr || transformation->retain) add(result, {{name, quantity}});
    if (transformation == nullptr) continue;
    Quantity units = quantity;
    const auto multiplier = requests.find(transformation->multiply_by);
    if (multiplier != requests.end()) units = units.times(multiplier->second);
    for (const auto& [output, factor] : transformation->outputs) add(generated, {{output, factor.times(units)}});
  }
  for (const auto& [name, quantity] : generated) add(result, {{name, std::max(quantity, Quantity())}});
  return result;
}

}  // namespace

PodResources pod_resources_in(const PodSpec& spec, std::string_view ns, const ClusterState& state,
                              DemandSources sources) {
  PodResources resources = template_resources(spec);
  for (const DemandSource* source : sources) {
    if (source->fill != nullptr) source->fill(spec, ns, state, resources);
  }
  return resources;
}

ResourceList pod_requests_in(const PodSpec& spec, std::string_view ns, const ClusterState& state) {
  return pod_requests(pod_resources_in(spec, ns, state));
}

// An excluded resource has no quota itself, but a transformation reads it.
bool is_within(const Requests& requests, const Requests& room) {
  return std::all_of(requests.begin(), requests.end(), [&](const auto& request) {
    const auto found = room.find(request.first);
    return request.second <= (found == room.end() ? 0 : found->second);
  });
}

Requests quota_requests(const ResourceList& pod_requests, const QueueSettings& settings) {
  Requests requests =
      to_requests(settings.transformations.empty() ? pod_requests : transformed(pod_requests, settings));
  std::erase_if(requests,
                [&](const auto& request) { return excluded(request.first, settings.exclude_resource_prefixes); });
  // A Workload that a user wrote can have negative requests.
  for (auto& [name, amount] : requests) amount = std::max<int64_t>(amount, 0);
  return requests;
}

}  // namespace muster::state
