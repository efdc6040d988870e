#include "api/review/cluster_view.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/object_meta.h"
#include "api/pods/limit_range.h"
#include "api/workload.h"
#include "kinds/kind_description.h"

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

ContainerMinimum container_minimum_of(const LimitRange& limit_range) {
  ContainerMinimum minimum;
  for (const LimitRangeItem& item : limit_range.items) {
    if (item.type != "Container") continue;
    if (auto cpu = item.min.find("cpu"); cpu != item.min.end()) minimum.cpu = cpu->second.text();
    if (auto memory = item.min.find("memory"); memory != item.min.end()) minimum.memory = memory->second.text();
  }
  return minimum;
}

bool is_consulted(std::string_view group, std::string_view kind) {
  return find_consulted_kind(group, kind) != nullptr;
}

// The kinds of which the view keeps more than their owners.
const ResourceType* known_type(std::string_view group, std::string_view kind) {
  for (const ResourceType* type : {&kNamespaces, &kLimitRanges, &kLocalQueues, &kClusterQueues, &kAdmissionChecks,
                                   &kWorkloadPriorityClasses, &kWorkloads}) {
    if (type->group == group && type->kind == kind) return type;
  }
  return find_consulted_kind(group, kind);
}

}  // namespace

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

OwnerFacts owner_facts(const ObjectMeta& meta) {
  return {.uid = meta.uid,
          .queue_name = std::string(meta.label(kQueueNameLabel)),
          .controller = meta.controller,
          .deleting = meta.deleting};
}

const OwnerFacts* ClusterView::owner(std::string_view group, std::string_view kind, std::string_view ns,
                                     std::string_view name) const {
  return owners_.find(join_key({group, kind, ns, name}));
}

bool ClusterView::is_admitted(std::string_view ns, const OwnerReference& job) const {
  const AdmittedJob* known = admitted_jobs_.find(job.uid);
  return known != nullptr && known->ns == ns && known->name == job.name && known->kind == job.kind &&
         known->api_version == job.api_version;
}

const json* ClusterView::consulted(const ResourceType& type, std::string_view ns, std::string_view name) const {
  const auto* object = consulted_.find(join_key({type.group, type.kind, ns, name}));
  return object == nullptr ? nullptr : object->get();
}

ContainerMinimum ClusterView::container_minimum(std::string_view ns) const {
  ContainerMinimum merged;
  const Minimums* minimums = container_minimums_.find(ns);
  if (minimums == nullptr) return merged;
  // If several LimitRanges set a minimum, the last one by name counts.
  for (const auto& [name, minimum] : *minimums) {
    if (!minimum.cpu.empty()) merged.cpu = minimum.cpu;
    if (!minimum.memory.empty()) merged.memory = minimum.memory;
  }
  return merged;
}

std::vector<std::string> ClusterView::namespaces_with_default_queue() const {
  std::vector<std::string> names;
  default_queue_namespaces_.for_each([&](const std::string& name, bool) { names.push_back(name); });
  std::sort(names.begin(), names.end());
  return names;
}

void ClusterView::put_typed(const TypedObject& object) {
  const ResourceType& type = type_of(object);
  const ObjectMeta& meta = meta_of(object);
  if (type.group.empty() && type.kind == kNamespaces.kind) {
    namespaces_.set(meta.name, meta.labels);
  } else if (const auto* limit_range = std::get_if<LimitRangePtr>(&object)) {
    const ContainerMinimum minimum = container_minimum_of(**limit_range);
    set_container_minimum(meta.ns, meta.name, &minimum);
  } else if (const auto* local_queue = std::get_if<LocalQueuePtr>(&object)) {
    local_queues_.set(join_key({meta.ns, meta.name}), {(*local_queue)->cluster_queue});
    if (meta.name == kDefaultLocalQueueName) default_queue_namespaces_.set(meta.ns, true);
  } else if (const auto* queue = std::get_if<ClusterQueuePtr>(&object)) {
    std::vector<std::string> checks;
    for (const AdmissionCheckRule& rule : (*queue)->admission_checks) checks.push_back(rule.name);
    cluster_queues_.set(meta.name, std::move(checks));
  } else if (const auto* check = std::get_if<AdmissionCheckPtr>(&object)) {
    admission_checks_.set(meta.name, (*check)->controller);
  } else if (type.kind == kWorkloadPriorityClasses.kind) {
    priority_classes_.set(meta.name, true);
  } else if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    note_workload(**workload, true);
  } else if (is_consulted(type.group, type.kind)) {
    consulted_.set(join_key({type.group, type.kind, meta.ns, meta.name}), std::get<PlainObjectPtr>(object)->object);
  } else {
    put_owner(type.api_version, type.kind, meta.ns, meta.name, owner_facts(meta));
  }
}

void ClusterView::put(const json& object) {
  const std::string_view api_version = string_at(object, {"apiVersion"}), kind = string_at(object, {"kind"});
  if (const ResourceType* type = known_type(group_of(api_version), kind)) return put_typed(read_object(*type, object));
  const ObjectMeta meta = read_meta(object);
  put_owner(api_version, kind, meta.ns, meta.name, owner_facts(meta));
}

bool ClusterView::note_workload(const Workload& workload, bool present) {
  if (!workload.meta.controller) return false;
  const std::string& job = workload.meta.controller->uid;
  const AdmittedJob* known = admitted_jobs_.find(job);
  const bool same = known != nullptr && known->workload == workload.meta.name && known->ns == workload.meta.ns;
  if (present && workload.admitted() && !workload.evicted()) {
    if (same) return false;
    const OwnerReference& owner = *workload.meta.controller;
    admitted_jobs_.set(job, {workload.meta.name, workload.meta.ns, owner.api_version, owner.kind, owner.name});
    return true;
  }
  if (!same) return false;
  admitted_jobs_.erase(job);
  return true;
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
    set_container_minimum(ns, name, nullptr);
  } else if (group == kKueueGroup && kind == "LocalQueue") {
    local_queues_.erase(join_key({ns, name}));
    if (name == kDefaultLocalQueueName) default_queue_namespaces_.erase(ns);
  } else if (group == kKueueGroup && kind == "ClusterQueue") {
    cluster_queues_.erase(name);
  } else if (group == kKueueGroup && kind == "AdmissionCheck") {
    admission_checks_.erase(name);
  } else if (group == kKueueGroup && kind == "WorkloadPriorityClass") {
    priority_classes_.erase(name);
  } else if (is_consulted(group, kind)) {
    consulted_.erase(join_key({group, kind, ns, name}));
  } else {
    owners_.erase(join_key({group, kind, ns, name}));
  }
}

void ClusterView::set_container_minimum(std::string_view ns, std::string_view name, const ContainerMinimum* minimum) {
  const Minimums* known = container_minimums_.find(ns);
  Minimums minimums = known == nullptr ? Minimums() : *known;
  if (minimum != nullptr)
    minimums.insert_or_assign(std::string(name), *minimum);
  else
    minimums.erase(std::string(name));
  if (minimums.empty())
    container_minimums_.erase(ns);
  else
    container_minimums_.set(ns, std::move(minimums));
}

}  // namespace muster
