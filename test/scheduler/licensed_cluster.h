// A scheduler with a further capacity, the licenses of toy_capacity.h.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "scheduler/views/explanation.h"
#include "test/scheduler/scheduler_fixture.h"
#include "test/scheduler/toy_capacity.h"

namespace muster::test {

using scheduler::FurtherCapacities;

inline const scheduler::CapacityKey kLicenses{1, Licenses::kUnit};

inline FurtherCapacities licenses(int64_t exist) {
  FurtherCapacities further;
  further.push_back(std::make_unique<Licenses>(exist));
  return further;
}

struct Pods {
  int32_t count = 1;
  std::optional<int32_t> min_count{};
};

// `licenses` and cores by pod.
class LicensedCluster : public Cluster {
 public:
  explicit LicensedCluster(int64_t exist) : Cluster({}, licenses(exist)) {}

  void submit(const std::string& name, const char* queue, int64_t cores, int64_t licenses, int32_t priority = 0,
              const std::vector<Pods>& pods = {{}}) {
    Workload made = workload(name, queue, priority, ++created_);
    const PodSet pod_set = made.pod_sets.front();
    made.pod_sets.clear();
    for (const Pods& each : pods) {
      PodSet& added = made.pod_sets.emplace_back(pod_set);
      added.name = "main" + std::to_string(made.pod_sets.size());
      added.count = each.count;
      added.min_count = each.min_count;
      added.pod_template.metadata_text =
          nlohmann::json{{"annotations", {{kLicensesAnnotation, std::to_string(licenses)}}}}.dump();
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
  void restart_from(const LicensedCluster& other) {
    for (const auto& [name, object] : other.running_) scheduler.put(object, requests(*object, 1), at(0));
  }
  scheduler::SchedulerView explain(const std::string& name) const {
    const auto view = scheduler::explain_pending(scheduler.state(), "team", name);
    REQUIRE(view);
    return *view;
  }
  int64_t free_licenses() const { return scheduler.state().capacity.available(scheduler::kNoNode, kLicenses); }
  int32_t admitted_count(const std::string& name) const {
    return running_.at(name)->status.admission->pod_sets.front().count.value();
  }
  std::string flavor_of(const std::string& name) const {
    return running_.at(name)->status.admission->pod_sets.front().flavors.at("cpu");
  }

 private:
  static std::vector<Requests> requests(const Workload& workload, int64_t cores) {
    return std::vector<Requests>(workload.pod_sets.size(), Requests{{"cpu", cores * 1000}});
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
