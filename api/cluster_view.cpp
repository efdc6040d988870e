#include "api/cluster_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/constants.h"
#include "api/json.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kKueueGroup = "kueue.x-k8s.io";

std::string join_key(std::initializer_list<std::string_view> parts) {
  std::string key;
  for (const std::string_view& part : parts) {
    if (&part != parts.begin()) key += '/';
    key += part;
  }
  return key;
}

// v1beta1 has a plain list, v1beta2 only the strategy; both are read.
std::vector<std::string> admission_checks_of(const json& cluster_queue) {
  std::vector<std::string> checks;
  for (const json& name : array_at(cluster_queue, {"spec", "admissionChecks"})) {
    if (name.is_string()) checks.push_back(name.get<std::string>());
  }
  for (const json& rule : array_at(cluster_queue, {"spec", "admissionChecksStrategy", "admissionChecks"})) {
    if (auto name = string_at(rule, {"name"}); !name.empty()) checks.emplace_back(name);
  }
  return checks;
}

ContainerMinimum container_minimum_of(const json& limit_range) {
  ContainerMinimum minimum;
  for (const json& item : array_at(limit_range, {"spec", "limits"})) {
    if (string_at(item, {"type"}) != "Container") continue;
    if (auto cpu = string_at(item, {"min", "cpu"}); !cpu.empty()) minimum.cpu = cpu;
    if (auto memory = string_at(item, {"min", "memory"}); !memory.empty()) minimum.memory = memory;
  }
  return minimum;
}

}  // namespace

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

const LocalQueueFacts* ClusterView::local_queue(std::string_view ns, std::string_view name) const {
  return local_queues_.find(join_key({ns, name}));
}

bool ClusterView::uses_multikueue(std::string_view ns, std::string_view queue) const {
  const LocalQueueFacts* facts = local_queue(ns, queue);
  const auto* checks = facts ? cluster_queues_.find(facts->cluster_queue) : nullptr;
  if (!checks) return false;
  return std::any_of(checks->begin(), checks->end(), [&](const std::string& check) {
    const std::string* controller = admission_checks_.find(check);
    return controller && *controller == kMultiKueueControllerName;
  });
}

const OwnerFacts* ClusterView::owner(std::string_view group, std::string_view kind, std::string_view ns,
                                     std::string_view name) const {
  return owners_.find(join_key({group, kind, ns, name}));
}

ContainerMinimum ClusterView::container_minimum(std::string_view ns) const {
  const ContainerMinimum* minimum = container_minimums_.find(ns);
  return minimum ? *minimum : ContainerMinimum{};
}

std::vector<std::string> ClusterView::namespaces_with_default_queue() const {
  std::vector<std::string> names;
  default_queue_namespaces_.for_each([&](const std::string& name, bool) { names.push_back(name); });
  std::sort(names.begin(), names.end());
  return names;
}

void ClusterView::put(const json& object) {
  const std::string_view group = group_of(string_at(object, {"apiVersion"}));
  const std::string_view kind = string_at(object, {"kind"});
  const std::string_view ns = string_at(object, {"metadata", "namespace"});
  const std::string_view name = string_at(object, {"metadata", "name"});
  if (group.empty() && kind == "Namespace") {
    namespaces_.set(name, labels_of(object));
  } else if (group.empty() && kind == "LimitRange") {
    limit_ranges_.set(join_key({ns, name}), container_minimum_of(object));
    refresh_container_minimum(ns);
  } else if (group == kKueueGroup && kind == "LocalQueue") {
    local_queues_.set(join_key({ns, name}), {std::string(string_at(object, {"spec", "clusterQueue"}))});
    if (name == kDefaultLocalQueueName) default_queue_namespaces_.set(ns, true);
  } else if (group == kKueueGroup && kind == "ClusterQueue") {
    cluster_queues_.set(name, admission_checks_of(object));
  } else if (group == kKueueGroup && kind == "AdmissionCheck") {
    admission_checks_.set(name, std::string(string_at(object, {"spec", "controllerName"})));
  } else if (group == kKueueGroup && kind == "WorkloadPriorityClass") {
    priority_classes_.set(name, true);
  } else {
    put_owner(string_at(object, {"apiVersion"}), kind, ns, name,
              {std::string(string_at(object, {"metadata", "uid"})),
               std::string(label(object, kQueueNameLabel).value_or("")), controller_of(object)});
  }
}

void ClusterView::put_owner(std::string_view api_version, std::string_view kind, std::string_view ns,
                            std::string_view name, OwnerFacts facts) {
  owners_.set(join_key({group_of(api_version), kind, ns, name}), std::move(facts));
}

void ClusterView::remove(std::string_view api_version, std::string_view kind, std::string_view ns,
                         std::string_view name) {
  const std::string_view group = group_of(api_version);
  if (group.empty() && kind == "Namespace") {
    namespaces_.erase(name);
  } else if (group.empty() && kind == "LimitRange") {
    limit_ranges_.erase(join_key({ns, name}));
    refresh_container_minimum(ns);
  } else if (group == kKueueGroup && kind == "LocalQueue") {
    local_queues_.erase(join_key({ns, name}));
    if (name == kDefaultLocalQueueName) default_queue_namespaces_.erase(ns);
  } else if (group == kKueueGroup && kind == "ClusterQueue") {
    cluster_queues_.erase(name);
  } else if (group == kKueueGroup && kind == "AdmissionCheck") {
    admission_checks_.erase(name);
  } else if (group == kKueueGroup && kind == "WorkloadPriorityClass") {
    priority_classes_.erase(name);
  } else {
    owners_.erase(join_key({group, kind, ns, name}));
  }
}

// A namespace has few LimitRanges; where several set a minimum, the last by name holds.
void ClusterView::refresh_container_minimum(std::string_view ns) {
  const std::string prefix = std::string(ns) + "/";
  std::map<std::string, ContainerMinimum> found;
  limit_ranges_.for_each([&](const std::string& key, const ContainerMinimum& minimum) {
    if (key.starts_with(prefix)) found.emplace(key, minimum);
  });
  ContainerMinimum merged;
  for (const auto& [key, minimum] : found) {
    if (!minimum.cpu.empty()) merged.cpu = minimum.cpu;
    if (!minimum.memory.empty()) merged.memory = minimum.memory;
  }
  if (found.empty())
    container_minimums_.erase(ns);
  else
    container_minimums_.set(ns, merged);
}

}  // namespace muster
