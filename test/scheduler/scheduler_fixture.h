// Small queues and Workloads for tests of the scheduler.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "scheduler/scheduler.h"
#include "scheduler/views/listing.h"
#include "test/support/plain_pod_template.h"

namespace muster::test {

inline Now at(int64_t seconds) {
  return {TimePoint(std::chrono::seconds(1'800'000'000 + seconds)), MonotonicTime(std::chrono::seconds(seconds))};
}

struct Limits {
  const char* flavor = "default";
  int64_t nominal = 0;
  std::optional<int64_t> borrowing{};
  std::optional<int64_t> lending{};
};

// One resource group for cpu, in whole cores.
inline std::vector<ResourceGroup> cpu_groups(const std::vector<Limits>& flavors) {
  const auto cores = [](std::optional<int64_t> amount) {
    return amount ? std::optional(Quantity::of(*amount)) : std::nullopt;
  };
  ResourceGroup group{.covered_resources = {"cpu"}, .flavors = {}};
  for (const Limits& limits : flavors) {
    group.flavors.push_back({.name = limits.flavor,
                             .resources = {{.name = "cpu",
                                            .nominal = Quantity::of(limits.nominal),
                                            .borrowing_limit = cores(limits.borrowing),
                                            .lending_limit = cores(limits.lending)}}});
  }
  return {group};
}

inline ClusterQueue cluster_queue(const char* name, const char* cohort, const std::vector<Limits>& flavors) {
  ClusterQueue queue;
  queue.meta.name = queue.meta.uid = name;
  queue.cohort = cohort;
  queue.resource_groups = cpu_groups(flavors);
  queue.namespace_selector = LabelSelector::everything();
  return queue;
}

inline ResourceFlavor resource_flavor(const char* name) {
  ResourceFlavor flavor;
  flavor.meta.name = name;
  return flavor;
}

inline Workload workload(const std::string& name, const char* local_queue, int32_t priority = 0, int64_t created = 0) {
  Workload made;
  made.meta.ns = "team";
  made.meta.name = made.meta.uid = name;
  made.meta.created = to_timestamp(at(created - 1000).wall);
  made.queue_name = local_queue;
  made.priority = priority;
  PodSet pod_set;
  pod_set.name = "main";
  pod_set.pod_template = plain_pod_template();
  made.pod_sets.push_back(std::move(pod_set));
  return made;
}

// A scheduler with a flavor "default", a namespace "team", and a LocalQueue of the same name
// for each ClusterQueue. Every Workload asks for cores of cpu per pod.
class Cluster {
 public:
  explicit Cluster(scheduler::SchedulerSettings settings = {}, scheduler::FurtherCapacities further = {})
      : scheduler(std::move(settings), std::move(further)) {
    scheduler.put_namespace("team", {});
    put(resource_flavor("default"));
  }

  void put(const ClusterQueue& queue) {
    scheduler.put(std::make_shared<const ClusterQueue>(queue));
    LocalQueue local;
    local.meta.ns = "team";
    local.meta.name = queue.meta.name;
    local.cluster_queue = queue.meta.name;
    scheduler.put(std::make_shared<const LocalQueue>(local));
  }
  void put(const ResourceFlavor& flavor) { scheduler.put(std::make_shared<const ResourceFlavor>(flavor)); }
  void put(const Workload& given, int64_t cores, int64_t seconds = 0) {
    scheduler.put(std::make_shared<const Workload>(given), {{{"cpu", cores * 1000}}}, at(seconds));
  }
  // What the API server would show after the admission was written.
  void confirm(const scheduler::Admitted& admitted, int64_t cores, int64_t seconds = 0) {
    Workload written = *admitted.workload;
    written.status.admission = admitted.admission;
    for (const char* type : {"QuotaReserved", "Admitted"})
      set_condition(written.status.conditions, {.type = type,
                                                .status = "True",
                                                .reason = type,
                                                .message = {},
                                                .last_transition = to_timestamp(at(seconds).wall)});
    put(written, cores, seconds);
  }
  // The decisions, one word each: "+name", "-victim", "?name: outcome".
  static std::string told(const std::vector<scheduler::Decision>& decisions) {
    std::string text;
    const auto add = [&](const std::string& word) { text += (text.empty() ? "" : " ") + word; };
    for (const scheduler::Decision& decision : decisions) {
      if (const auto* admitted = std::get_if<scheduler::Admitted>(&decision)) add("+" + admitted->workload->meta.name);
      if (const auto* preempted = std::get_if<scheduler::Preempted>(&decision))
        add("-" + preempted->workload->meta.name);
      if (const auto* awaited = std::get_if<scheduler::AwaitedVictim>(&decision))
        add("~" + awaited->workload->meta.name);
      if (const auto* pending = std::get_if<scheduler::Pending>(&decision))
        add("?" + pending->workload->meta.name + ":" + std::string(scheduler::to_text(pending->outcome)));
    }
    return text;
  }
  std::string cycle(int64_t seconds = 0) { return told(scheduler.cycle(at(seconds))); }
  std::string drain(int64_t seconds = 0) { return told(scheduler.drain(at(seconds))); }

  scheduler::Scheduler scheduler;
};

// What a ClusterQueue uses of one flavor's resource.
inline int64_t usage_of(const scheduler::Scheduler& scheduler, const std::string& queue, const std::string& flavor,
                        const std::string& resource) {
  for (const scheduler::ListedClusterQueue& listed : scheduler::listing_of(scheduler.state()).cluster_queues) {
    if (listed.object->meta.name != queue) continue;
    for (const scheduler::ListedQuota& quota : listed.quotas) {
      if (quota.flavor == flavor && quota.resource == resource) return quota.used;
    }
  }
  return 0;
}

// The Workloads that wait for a ClusterQueue, in order.
inline std::vector<WorkloadPtr> pending_of(const scheduler::Scheduler& scheduler, const std::string& queue) {
  std::vector<WorkloadPtr> waiting;
  for (scheduler::ListedClusterQueue& listed : scheduler::listing_of(scheduler.state()).cluster_queues) {
    if (listed.object->meta.name != queue) continue;
    std::sort(listed.pending.begin(), listed.pending.end(), scheduler::comes_before);
    for (const scheduler::PendingEntry& entry : listed.pending) waiting.push_back(entry.object);
  }
  return waiting;
}

// Of decisions, the one at `index`, which must be an admission.
inline const scheduler::Admitted& admission(const std::vector<scheduler::Decision>& decisions, size_t index = 0) {
  const auto* admitted = std::get_if<scheduler::Admitted>(&decisions.at(index));
  REQUIRE(admitted != nullptr);
  return *admitted;
}

}  // namespace muster::test
