#include "jobs/kept/object_bytes.h"

#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/config_map.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/pod.h"
#include "api/pods/limit_range.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "kinds/described_job.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

// Of one element of a std::map, beside the element.
constexpr size_t kNode = 32;
// A std::string holds this number of characters itself.
constexpr size_t kInPlace = 15;
// Reasons, kinds and names that many objects share; a longer one is most likely one of its kind.
constexpr size_t kLongText = 256;

// What lies behind a value: of strings, lists and maps.
struct Measure {
  static size_t heap(const std::string& text) { return text.capacity() <= kInPlace ? 0 : text.capacity() + 1; }

  static size_t heap(const SharedText& text) { return text.text().size() <= kLongText ? 0 : text.text().size(); }

  static size_t heap(const Quantity&) { return 0; }

  static size_t heap(const Toleration& toleration) {
    return heap(toleration.key) + heap(toleration.op) + heap(toleration.value) + heap(toleration.effect);
  }

  static size_t heap(const Condition& condition) {
    return heap(condition.type) + heap(condition.reason) + heap(condition.message);
  }

  template <class Value>
  static size_t heap(const std::map<std::string, Value, std::less<>>& map) {
    size_t bytes = 0;
    for (const auto& [key, value] : map)
      bytes += kNode + sizeof(std::pair<const std::string, Value>) + heap(key) + heap(value);
    return bytes;
  }

  template <class Item>
  static size_t heap(const std::vector<Item>& list) {
    size_t bytes = list.capacity() * sizeof(Item);
    if constexpr (!std::is_arithmetic_v<Item>) {
      for (const Item& item : list) bytes += heap(item);
    }
    return bytes;
  }

  static size_t heap(const ResourceRequirements& resources) {
    return heap(resources.requests) + heap(resources.limits);
  }

  static size_t heap(const ContainerSpec& container) { return heap(container.name) + heap(container.resources); }

  static size_t heap(const ObjectMeta& meta) {
    size_t bytes = heap(meta.ns) + heap(meta.name) + heap(meta.uid) + heap(meta.labels) + heap(meta.annotations) +
                   heap(meta.finalizers);
    if (meta.controller)
      bytes += heap(meta.controller->api_version) + heap(meta.controller->kind) + heap(meta.controller->name) +
               heap(meta.controller->uid);
    return bytes;
  }

  static size_t heap(const Dependency& dependency) { return heap(dependency.replicated_job); }

  static size_t heap(const Barrier& barrier) { return heap(barrier.config_map) + heap(barrier.epoch); }

  static size_t heap(const ReplicatedJob& replicated) {
    return heap(replicated.name) + heap(replicated.group_name) + heap(replicated.depends_on) +
           (replicated.barrier ? heap(*replicated.barrier) : 0) + heap(replicated.pod_template.metadata_text) +
           heap(replicated.rest_text);
  }

  static size_t heap(const FailureRule& rule) {
    return heap(rule.name) + heap(rule.reasons) + heap(rule.message_patterns) + heap(rule.targets);
  }

  static size_t heap(const VolumeClaim& claim) { return heap(claim.name); }

  static size_t heap(const ReplicatedJobStatus& status) {
    return heap(status.name) + heap(status.job_restarts) + heap(status.job_restarts_count_towards_max);
  }

  static size_t heap(const DescribedPodSet& pod_set) {
    return heap(pod_set.name) + heap(pod_set.pod_template.metadata_text) + heap(pod_set.topology_labels) +
           heap(pod_set.place);
  }

  static size_t heap(const PodSet& pod_set) {
    return heap(pod_set.name) + heap(pod_set.pod_template.metadata_text) + heap(pod_set.topology_request_text);
  }

  static size_t heap(const PodSetAssignment& assignment) {
    return heap(assignment.name) + heap(assignment.flavors) + heap(assignment.resource_usage);
  }

  static size_t heap(const PodSetUpdate& update) {
    return heap(update.name) + heap(update.labels) + heap(update.annotations) + heap(update.node_selector) +
           heap(update.tolerations);
  }

  static size_t heap(const AdmissionCheckState& check) {
    return heap(check.name) + heap(check.message) + heap(check.pod_set_updates);
  }

  static size_t heap(const LimitRangeItem& item) {
    return heap(item.type) + heap(item.max) + heap(item.min) + heap(item.default_limits) + heap(item.default_requests) +
           heap(item.max_limit_request_ratio);
  }

  // A tree holds 16 bytes for each value, and more for what is in lists and objects.
  static size_t heap(const json& value) {
    size_t bytes = 0;
    switch (value.type()) {
      case json::value_t::string:
        return sizeof(std::string) + heap(value.get_ref<const std::string&>());
      case json::value_t::array:
        bytes = sizeof(json::array_t) + value.get_ref<const json::array_t&>().capacity() * sizeof(json);
        for (const json& item : value) bytes += heap(item);
        return bytes;
      case json::value_t::object:
        bytes = sizeof(json::object_t);
        for (const auto& [key, item] : value.get_ref<const json::object_t&>())
          bytes += kNode + sizeof(json::object_t::value_type) + heap(key) + heap(item);
        return bytes;
      default:
        return 0;
    }
  }

  // --- By kind, without metadata and without what is shared ---

  static size_t heap(const Job& job) {
    return heap(job.managed_by) + heap(job.pod_selector) + (job.barrier ? heap(*job.barrier) : 0) +
           heap(job.pod_template.metadata_text) + heap(job.tolerations_text) + heap(job.scheduling_gates_text) +
           heap(job.status.completed_indexes) + heap(job.status.failed_indexes) + heap(job.status.conditions);
  }

  static size_t heap(const JobSet& jobset) {
    size_t bytes = heap(jobset.managed_by) + heap(jobset.replicated_jobs) + heap(jobset.subdomain) +
                   heap(jobset.success.targets) + heap(jobset.volume_claims) + heap(jobset.unsupported) +
                   heap(jobset.status.conditions) + heap(jobset.status.replicated_jobs);
    if (jobset.failure) bytes += heap(jobset.failure->rules);
    if (jobset.coordinator) bytes += heap(jobset.coordinator->replicated_job);
    return bytes;
  }

  static size_t heap(const DescribedJob& job) {
    return heap(job.managed_by) + heap(job.priority_class) + heap(job.pod_sets) + heap(job.unreadable) +
           heap(job.lists) + (job.end ? heap(job.end->message) : 0) + heap(job.kept) + heap(job.awaited) +
           heap(job.pod_selector);
  }

  static size_t heap(const Workload& workload) {
    const WorkloadStatus& status = workload.status;
    size_t bytes = heap(workload.group_owners_text) + heap(workload.queue_name) + heap(workload.pod_sets) +
                   heap(status.conditions) + heap(status.admission_checks);
    if (status.admission) bytes += heap(status.admission->cluster_queue) + heap(status.admission->pod_sets);
    return bytes;
  }

  static size_t heap(const QueuedPod& pod) {
    return heap(pod.gates) + heap(pod.message) + heap(pod.node) + heap(pod.role) + heap(pod.conditions_text);
  }

  static size_t heap(const Pod& pod) { return heap(pod.node) + heap(pod.barrier_config_map) + heap(pod.hindrance); }

  static size_t heap(const ConfigMap& map) { return heap(map.data); }

  static size_t heap(const LimitRange& limit_range) { return heap(limit_range.items); }

  static size_t heap(const PlainObject& plain) {
    return plain.object == nullptr ? 0 : sizeof(json) + heap(*plain.object);
  }

  // Kinds of administrators.
  template <class Object>
  static size_t heap(const Object&) {
    return 0;
  }
};

}  // namespace

size_t own_bytes(const TypedObject& object) {
  return std::visit([](const auto& held) { return sizeof(*held) + Measure::heap(held->meta) + Measure::heap(*held); },
                    object);
}

size_t bytes_of(const PodSpec& spec) {
  return sizeof(spec) + Measure::heap(spec.text) + Measure::heap(spec.init_containers) +
         Measure::heap(spec.containers) + (spec.resources ? Measure::heap(*spec.resources) : 0) +
         Measure::heap(spec.overhead) + Measure::heap(spec.runtime_class) + Measure::heap(spec.priority_class) +
         Measure::heap(spec.tolerations);
}

size_t bytes_of(const SharedText& text) {
  return text.text().size();
}

size_t bytes_of(const TypedObject& object) {
  size_t bytes = own_bytes(object);
  for_each_shared_part(object, [&](const auto& part) { bytes += bytes_of(part); });
  return bytes;
}

}  // namespace muster::jobs
