// A scheduler with further capacities, whose admissions are written as soon as they are decided.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/views/explanation.h"
#include "test/scheduler/scheduler_fixture.h"

namespace muster::test {

struct Pods {
  int32_t count = 1;
  std::optional<int32_t> min_count{};
};

class CapacityCluster : public Cluster {
 public:
  explicit CapacityCluster(scheduler::FurtherCapacities further) : Cluster({}, std::move(further)) {}

  // `cores` by pod. `metadata`: the JSON text of that of the templates.
  void submit(const std::string& name, const char* queue, int64_t cores, int32_t priority,
              const std::vector<Pods>& pods, const std::string& metadata) {
    Workload made = workload(name, queue, priority, ++created_);
    const PodSet pod_set = made.pod_sets.front();
    made.pod_sets.clear();
    for (const Pods& each : pods) {
      PodSet& added = made.pod_sets.emplace_back(pod_set);
      added.name = "main" + std::to_string(made.pod_sets.size());
      added.count = each.count;
      added.min_count = each.min_count;
      added.pod_template.metadata_text = metadata;
    }
    scheduler.put(std::make_shared<const Workload>(made), requests(made, cores), at(0));
  }

  // Decides, and writes the admissions.
  std::string settle() {
    const std::vector<scheduler::Decision> decisions = scheduler.drain(at(++now_));
    for (const scheduler::Decision& decision : decisions) {
      const auto* admitted = std::get_if<scheduler::Admitted>(&decision);
      if (admitted == nullptr) continue;
      const int64_t cores = admitted->admission.pod_sets[0].resource_usage.at("cpu").approximate() /
                            *admitted->admission.pod_sets[0].count;
      Workload written = *admitted->workload;
      written.status.admission = admitted->admission;
      for (const char* type : {"QuotaReserved", "Admitted"})
        set_condition(written.status.conditions, {.type = type,
                                                  .status = "True",
                                                  .reason = type,
                                                  .message = {},
                                                  .last_transition = to_timestamp(at(now_).wall)});
      running_[written.meta.name] = std::make_shared<const Workload>(written);
      scheduler.put(running_[written.meta.name], requests(written, cores), at(now_));
    }
    return told(decisions);
  }
  // It has ended, or was evicted: its claim is released.
  void end(const std::string& name) {
    scheduler.remove_workload("team", name);
    running_.erase(name);
  }
  // What a new replica reads.
  void restart_from(const CapacityCluster& other) {
    for (const auto& [name, object] : other.running_) scheduler.put(object, requests(*object, 1), at(0));
  }
  scheduler::SchedulerView explain(const std::string& name) const {
    const auto view = scheduler::explain_pending(scheduler.state(), "team", name);
    REQUIRE(view);
    return *view;
  }
  // With quota.
  const Workload& running(const std::string& name) const { return *running_.at(name); }
  int32_t admitted_count(const std::string& name) const {
    return running(name).status.admission->pod_sets.front().count.value();
  }
  std::string flavor_of(const std::string& name) const {
    return running(name).status.admission->pod_sets.front().flavors.at("cpu");
  }

  int64_t memory = 0;  // of each pod, in bytes; 0: they request none

 private:
  std::vector<Requests> requests(const Workload& workload, int64_t cores) const {
    Requests of_pod = {{"cpu", cores * 1000}};
    if (memory > 0) of_pod["memory"] = memory;
    return std::vector<Requests>(workload.pod_sets.size(), of_pod);
  }

  int64_t created_ = 0;
  int64_t now_ = 0;
  std::map<std::string, WorkloadPtr> running_;
};

inline ClusterQueue preempting(const char* name, int64_t cores) {
  ClusterQueue queue = cluster_queue(name, "", {{.nominal = cores}});
  queue.preemption.within_cluster_queue = PreemptionPolicy::kLowerPriority;
  return queue;
}

}  // namespace muster::test
