#include "api/pods/pod_requests.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

namespace muster {
namespace {

using nlohmann::json;

void keep_larger(ResourceList& list, const ResourceList& other) {
  for (const auto& [name, quantity] : other) {
    auto [entry, is_new] = list.try_emplace(name, quantity);
    if (!is_new && quantity > entry->second) entry->second = quantity;
  }
}

void keep_smaller(ResourceList& list, const ResourceList& other) {
  for (const auto& [name, quantity] : other) {
    auto [entry, is_new] = list.try_emplace(name, quantity);
    if (!is_new && quantity < entry->second) entry->second = quantity;
  }
}

void fill_gaps(ResourceList& list, const ResourceList& defaults) {
  list.insert(defaults.begin(), defaults.end());
}

// The API server applies the LimitRanges of a namespace in no order, and the first default counts: so the largest is
// the one that a pod cannot exceed.
LimitRangeItem summarize(const std::vector<const LimitRange*>& limit_ranges, std::string_view type) {
  LimitRangeItem summary;
  for (const LimitRange* limit_range : limit_ranges) {
    for (const LimitRangeItem& item : limit_range->items) {
      if (item.type != type) continue;
      keep_smaller(summary.max, item.max);
      keep_larger(summary.min, item.min);
      keep_larger(summary.default_limits, item.default_limits);
      keep_larger(summary.default_requests, item.default_requests);
    }
  }
  return summary;
}

// Where a webhook changes the pod, the API server reads the pod again, and a limit is the request again.
void complete(ResourceRequirements& resources, const LimitRangeItem& bounds) {
  fill_gaps(resources.limits, bounds.default_limits);
  fill_gaps(resources.requests, bounds.default_requests);
  fill_gaps(resources.requests, resources.limits);
}

template <class Containers, class Visit>
void for_each_container(Containers& resources, Visit visit) {
  for (auto& container : resources.init_containers) visit(container);
  for (auto& container : resources.containers) visit(container);
}

// Resources that the pod as a whole can request (KEP-2837).
bool is_pod_level(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

ResourceList pod_level(const ResourceList& requests) {
  ResourceList counted;
  for (const auto& [name, quantity] : requests) {
    if (is_pod_level(name)) counted.emplace(name, quantity);
  }
  return counted;
}

// Sorted names in `list` that have the given relation to `bounds`.
std::vector<std::string> names_where(const ResourceList& list, const ResourceList& bounds,
                                     const std::function<bool(const Quantity&, const Quantity&)>& relation) {
  std::vector<std::string> names;
  for (const auto& [name, quantity] : list) {
    const auto bound = bounds.find(name);
    if (bound != bounds.end() && relation(quantity, bound->second)) names.push_back(name);
  }
  return names;
}

std::vector<std::string> names_above(const ResourceList& list, const ResourceList& bounds) {
  return names_where(list, bounds, std::greater<Quantity>());
}

void complain(FieldErrors& errors, const FieldPath& path, const std::vector<std::string>& names, std::string detail) {
  if (!names.empty()) errors.push_back(invalid(path, json(names), std::move(detail)));
}

void check_bounds(const ResourceList& low, const ResourceList& high, const LimitRangeItem& bounds,
                  const FieldPath& path, FieldErrors& errors) {
  complain(errors, path, names_above(high, bounds.max), "requests must not be above the limitRange max");
  complain(errors, path, names_where(low, bounds.min, std::less<Quantity>()),
           "requests must not be below the limitRange min");
}

template <class Check>
void check_containers(const PodResources& resources, const FieldPath& path, Check check) {
  for (size_t i = 0; i < resources.init_containers.size(); ++i) {
    check(resources.init_containers[i].resources, path.child("initContainers").index(i));
  }
  for (size_t i = 0; i < resources.containers.size(); ++i) {
    check(resources.containers[i].resources, path.child("containers").index(i));
  }
}

}  // namespace

void add(ResourceList& sum, const ResourceList& more) {
  for (const auto& [name, quantity] : more) {
    auto [entry, is_new] = sum.try_emplace(name, quantity);
    if (!is_new) entry->second += quantity;
  }
}

PodResources template_resources(const PodSpec& spec) {
  PodResources resources{.init_containers = spec.init_containers,
                         .containers = spec.containers,
                         .pod = spec.resources,
                         .overhead = spec.overhead};
  const auto request_limits = [](ResourceRequirements& own) { fill_gaps(own.requests, own.limits); };
  for_each_container(resources, [&](ContainerSpec& container) { request_limits(container.resources); });
  if (resources.pod) request_limits(*resources.pod);
  return resources;
}

void fill_overhead(PodResources& resources, const RuntimeClass& runtime_class) {
  if (resources.overhead.empty()) resources.overhead = runtime_class.pod_overhead;
}

void fill_defaults(PodResources& resources, const std::vector<const LimitRange*>& limit_ranges) {
  if (limit_ranges.empty()) return;
  const LimitRangeItem container_bounds = summarize(limit_ranges, "Container");
  for_each_container(resources, [&](ContainerSpec& container) { complete(container.resources, container_bounds); });
  if (resources.pod) complete(*resources.pod, summarize(limit_ranges, "Pod"));
}

PodResources adjusted_resources(const PodSpec& spec, const ResourceDefaults& defaults) {
  PodResources adjusted = template_resources(spec);
  if (defaults.runtime_class != nullptr) fill_overhead(adjusted, *defaults.runtime_class);
  fill_defaults(adjusted, defaults.limit_ranges);
  return adjusted;
}

// Init containers run one after another, together with the sidecars that started before them. Then all other
// containers run together with all sidecars. The larger request counts of the pod as a whole and of its containers:
// Kubernetes refuses a pod in which the former is smaller, but a template is not a pod, and a cluster that does not
// serve the field removes it from pods and not from the templates of other kinds.
ResourceList pod_requests(const PodResources& resources) {
  ResourceList running, sidecars, starting;
  for (const ContainerSpec& container : resources.init_containers) {
    if (container.sidecar) add(sidecars, container.resources.requests);
    ResourceList together = sidecars;
    if (!container.sidecar) add(together, container.resources.requests);
    keep_larger(starting, together);
  }
  for (const ContainerSpec& container : resources.containers) add(running, container.resources.requests);
  add(running, sidecars);
  keep_larger(running, starting);
  if (resources.pod) keep_larger(running, pod_level(resources.pod->requests));
  add(running, resources.overhead);
  return running;
}

FieldErrors check_limits(const PodResources& resources, const FieldPath& path) {
  FieldErrors errors;
  const auto check = [&](const ResourceRequirements& requirements, const FieldPath& at) {
    complain(errors, at, names_above(requirements.requests, requirements.limits),
             "requests must not exceed its limits");
  };
  check_containers(resources, path, check);
  if (resources.pod) check(*resources.pod, path.child("resources"));
  return errors;
}

FieldErrors check_limit_ranges(const PodResources& resources, const std::vector<const LimitRange*>& limit_ranges,
                               const FieldPath& path) {
  FieldErrors errors;
  const LimitRangeItem container = summarize(limit_ranges, "Container");
  check_containers(resources, path, [&](const ResourceRequirements& requirements, const FieldPath& at) {
    ResourceList low = requirements.requests, high = requirements.requests;
    keep_smaller(low, requirements.limits);
    keep_larger(high, requirements.limits);
    check_bounds(low, high, container, at, errors);
  });
  const ResourceList total = pod_requests(resources);
  check_bounds(total, total, summarize(limit_ranges, "Pod"), path, errors);
  return errors;
}

}  // namespace muster
