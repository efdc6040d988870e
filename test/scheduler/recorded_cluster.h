// The cluster around the scheduler as the recorded scenarios play it (test/vectors, scheduler): status changes, delayed
// evictions, finish events.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/pods/pod_requests.h"
#include "scheduler/eligibility.h"
#include "scheduler/scheduler.h"
#include "test/scheduler/scheduler_fixture.h"

namespace muster::test {

using nlohmann::json;

struct RecordedJob {
  json object;
  int evicted_in = 0;  // cycle; 0: not evicted
  bool drained = false;
  json refusal;  // the last one compared: outcome, reason, place
};

class RecordedCluster {
 public:
  explicit RecordedCluster(const json& input);

  // The evictions before the first cycle.
  json drain_stopped_queues();
  // One cycle and the steps after it; what is comparable about it.
  json cycle(int number);
  // Of the last cycle: all that it parked without having been a head, as far as they competed before it; all that were
  // parked after it; who finished after it, and who gave quota back.
  const std::set<std::string>& bulk_parked() const { return bulk_parked_; }
  const std::set<std::string>& parked() const { return parked_; }
  const json& finished_after() const { return finished_after_; }
  const json& released_after() const { return released_after_; }
  json final_pending() const;
  json final_admitted() const;
  json final_finished() const;
  bool outstanding(int number) const;
  // Pending Workloads that have waited for victims and do so no more. The recorded Kueue let them come first in their
  // queue all the same, until they were admitted; 0.20.0 does not.
  const std::set<std::string>& former_preemptors() const { return former_preemptors_; }
  // What uses more than there is: never anything, whoever is leaving.
  std::set<std::string> over_quota() const;
  // The same at the end of the last cycle, before the steps after it.
  const std::set<std::string>& over_in_cycle() const { return over_; }
  // Without those that wait for no victims any more: others come before them, and can take what was freed.
  std::set<std::string> preemptors() const {
    std::set<std::string> left = preemptors_;
    for (const std::string& former : former_preemptors_) left.erase(former);
    return left;
  }
  bool runs_or_ran(const std::string& name) const;

 private:
  Now time(int cycle, int seconds) const {
    const Timestamp at{start_.seconds + 10 * cycle + seconds, start_.nanoseconds};
    return {to_time_point(at), MonotonicTime(std::chrono::seconds(10 * cycle + seconds))};
  }
  void put(RecordedJob& job, Now now);
  void set(RecordedJob& job, const char* type, const char* status, const std::string& reason, Now now);
  void release(RecordedJob& job, Now now);
  json describe(const scheduler::Decision& decision, Now now);
  void note_wait(const std::string& name, scheduler::AttemptResult outcome);
  std::set<std::string> in_position(scheduler::QueuePosition position) const;

  const json& input_;
  Timestamp start_;
  scheduler::SchedulerSettings settings_;
  scheduler::Scheduler scheduler_;
  std::map<std::string, RecordedJob> jobs_;
  std::set<std::string> preemptors_, ran_, over_, bulk_parked_, parked_, waiting_preemptors_, former_preemptors_;
  json finished_after_, released_after_;
};

inline scheduler::SchedulerSettings settings_of(const json& input) {
  scheduler::SchedulerSettings settings;
  const json::json_pointer path("/config/fairSharing/preemptionStrategies");
  if (!input.contains(path)) return settings;
  for (const json& name : input.at(path)) {
    settings.fair_sharing.push_back(name == "LessThanInitialShare" ? FairStrategy::kLessThanInitialShare
                                                                   : FairStrategy::kLessThanOrEqualToFinalShare);
  }
  return settings;
}

inline std::string name_of(const json& object) {
  return object["metadata"]["namespace"].get<std::string>() + "/" + object["metadata"]["name"].get<std::string>();
}

inline std::string name_of(const WorkloadPtr& workload) {
  return workload->meta.ns + "/" + workload->meta.name;
}

inline RecordedCluster::RecordedCluster(const json& input)
    : input_(input), start_(*parse_rfc3339(input["now"].get<std::string>())), scheduler_(settings_of(input)) {
  for (const json& item : input["namespaces"]) scheduler_.put_namespace(item["name"], read_string_map(item["labels"]));
  for (const json& item : input["resourceFlavors"]) scheduler_.put(read_resource_flavor(item));
  for (const json& item : input["cohorts"]) scheduler_.put(read_cohort(item));
  for (const json& item : input["clusterQueues"]) scheduler_.put(read_cluster_queue(item));
  for (const json& item : input["localQueues"]) scheduler_.put(read_local_queue(item));
  for (const json& item : input["workloads"]) {
    RecordedJob& job = jobs_[name_of(item)];
    job.object = item;
    const WorkloadPtr workload = read_workload(item);
    if (workload->evicted() && workload->has_quota_reserved()) job.evicted_in = 1;
    put(job, time(0, 0));
  }
}

inline void RecordedCluster::put(RecordedJob& job, Now now) {
  const WorkloadPtr workload = read_workload(job.object);
  std::vector<Requests> requests;
  for (const PodSet& pod_set : workload->pod_sets)
    requests.push_back(to_requests(pod_requests(adjusted_resources(*pod_set.pod_template.spec, {}))));
  scheduler_.put(workload, requests, now);
  if (workload->admitted()) ran_.insert(name_of(workload));
}

inline void RecordedCluster::set(RecordedJob& job, const char* type, const char* status, const std::string& reason,
                                 Now now) {
  json& conditions = job.object["status"]["conditions"];
  if (conditions.is_null()) conditions = json::array();
  const json stamp = time_to_json(to_timestamp(now.wall));
  for (json& condition : conditions) {
    if (condition["type"] != type) continue;
    if (condition["status"] != status) condition["lastTransitionTime"] = stamp;
    condition["status"] = status;
    condition["reason"] = reason;
    return;
  }
  conditions.push_back(
      {{"type", type}, {"status", status}, {"reason", reason}, {"message", ""}, {"lastTransitionTime", stamp}});
}

// The job has stopped: its quota comes back, and it queues again (a drained one is held back).
inline void RecordedCluster::release(RecordedJob& job, Now now) {
  set(job, "Requeued", job.drained ? "False" : "True", job.drained ? "ClusterQueueStopped" : "Preempted", now);
  set(job, "QuotaReserved", "False", "PendingEvaluation", now);
  set(job, "Admitted", "False", "NoReservation", now);
  job.object["status"].erase("admission");
  job.evicted_in = 0;
  job.drained = false;
  put(job, now);
}

inline json RecordedCluster::drain_stopped_queues() {
  json drained = json::array();
  std::map<std::string, std::string> stopped;  // ClusterQueue or namespace/LocalQueue
  for (const json& queue : input_["clusterQueues"]) {
    if (queue["spec"]["stopPolicy"] == "HoldAndDrain") stopped[queue["metadata"]["name"]] = "ClusterQueueStopped";
  }
  for (const json& queue : input_["localQueues"]) {
    if (queue["spec"].value("stopPolicy", "None") == "HoldAndDrain") stopped[name_of(queue)] = "LocalQueueStopped";
  }
  for (auto& [name, job] : jobs_) {
    const WorkloadPtr workload = read_workload(job.object);
    if (!workload->admitted() || workload->finished() || workload->evicted()) continue;
    const auto by_queue = stopped.find(workload->status.admission->cluster_queue);
    const auto by_local = stopped.find(workload->meta.ns + "/" + workload->queue_name);
    if (by_queue == stopped.end() && by_local == stopped.end()) continue;
    job.drained = true;
    const std::string reason = by_local == stopped.end() ? by_queue->second : by_local->second;
    drained.push_back({{"type", "evicted"},
                       {"workload", name},
                       {"clusterQueue", workload->status.admission->cluster_queue},
                       {"reason", reason}});
    set(job, "Evicted", "True", reason, time(0, 0));
    release(job, time(0, 0));
  }
  return drained;
}

inline std::set<std::string> RecordedCluster::in_position(scheduler::QueuePosition position) const {
  std::set<std::string> names;
  for (const auto& [name, job] : jobs_) {
    const size_t slash = name.find('/');
    if (scheduler::position_of(scheduler_.state(), name.substr(0, slash), name.substr(slash + 1)) == position)
      names.insert(name);
  }
  return names;
}

inline json RecordedCluster::describe(const scheduler::Decision& decision, Now now) {
  if (const auto* admitted = std::get_if<scheduler::Admitted>(&decision)) {
    RecordedJob& job = jobs_.at(name_of(admitted->workload));
    waiting_preemptors_.erase(name_of(admitted->workload));
    former_preemptors_.erase(name_of(admitted->workload));
    json pod_sets = json::array();
    for (const PodSetAssignment& pod_set : admitted->admission.pod_sets) {
      json usage = json::object();
      for (const auto& [resource, quantity] : pod_set.resource_usage) usage[resource] = to_amount(resource, quantity);
      pod_sets.push_back(
          {{"name", pod_set.name}, {"count", *pod_set.count}, {"flavors", pod_set.flavors}, {"usage", usage}});
    }
    job.refusal = nullptr;
    job.object["status"]["admission"] = to_json(admitted->admission);
    set(job, "QuotaReserved", "True", "QuotaReserved", now);
    set(job, "Admitted", "True", "Admitted", now);
    for (const char* old : {"Evicted", "Preempted"}) {
      if (condition_is_true(read_workload(job.object)->status.conditions, old))
        set(job, old, "False", "QuotaReserved", now);
    }
    put(job, now);
    return {{"type", "admitted"},
            {"workload", name_of(admitted->workload)},
            {"level", admitted->borrowing_level},
            {"podSets", pod_sets}};
  }
  if (const auto* preempted = std::get_if<scheduler::Preempted>(&decision)) {
    RecordedJob& job = jobs_.at(name_of(preempted->workload));
    preemptors_.insert(name_of(preempted->preemptor));
    set(job, "Evicted", "True", "Preempted", now);
    set(job, "Preempted", "True", std::string(scheduler::to_text(preempted->reason)), now);
    job.evicted_in = -1;  // set by cycle()
    put(job, now);
    return {{"type", "preempted"},
            {"workload", name_of(preempted->workload)},
            {"reason", scheduler::to_text(preempted->reason)},
            {"preemptor", name_of(preempted->preemptor)}};
  }
  if (const auto* awaited = std::get_if<scheduler::AwaitedVictim>(&decision)) {
    return {{"type", "awaitedVictim"},
            {"workload", name_of(awaited->workload)},
            {"reason", scheduler::to_text(awaited->reason)},
            {"preemptor", name_of(awaited->preemptor)}};
  }
  const auto& pending = std::get<scheduler::Pending>(decision);
  RecordedJob& job = jobs_.at(name_of(pending.workload));
  CHECK_FALSE(pending.message.empty());
  note_wait(name_of(pending.workload), pending.outcome);
  job.refusal = {{"outcome", scheduler::to_text(pending.outcome)},
                 {"reason", scheduler::to_text(pending.reason)},
                 {"requeued", scheduler::to_text(pending.requeued)}};
  set(job, "QuotaReserved", "False", std::string(scheduler::to_text(pending.reason)), now);
  put(job, now);
  json described = job.refusal;
  described["type"] = "pending";
  described["workload"] = name_of(pending.workload);
  return described;
}

inline void RecordedCluster::note_wait(const std::string& name, scheduler::AttemptResult outcome) {
  using scheduler::AttemptResult;
  if (outcome == AttemptResult::kPreempting || outcome == AttemptResult::kDeferredFit) {
    waiting_preemptors_.insert(name);
    former_preemptors_.erase(name);
  } else if (waiting_preemptors_.erase(name) > 0) {
    former_preemptors_.insert(name);
  }
}

// Victims of one preemptor in the order of their names; theirs means nothing.
inline void sort_victims(json& decisions) {
  const auto victim = [](const json& decision) {
    return decision["type"] == "preempted" || decision["type"] == "awaitedVictim";
  };
  for (auto from = decisions.begin(); from != decisions.end();) {
    auto to = from;
    while (to != decisions.end() && victim(*to)) ++to;
    std::sort(from, to, [](const json& a, const json& b) {
      return std::pair(a["workload"], a["type"]) < std::pair(b["workload"], b["type"]);
    });
    from = to == decisions.end() ? to : to + 1;
  }
}

inline json RecordedCluster::cycle(int number) {
  const Now now = time(number, 0), after = time(number, 5);
  json decisions = json::array();
  finished_after_ = released_after_ = json::array();
  bulk_parked_.clear();
  const std::set<std::string> active = in_position(scheduler::QueuePosition::kActive);
  const std::vector<scheduler::Decision> decided = scheduler_.cycle(now);
  parked_ = in_position(scheduler::QueuePosition::kInadmissible);
  std::set_intersection(active.begin(), active.end(), parked_.begin(), parked_.end(),
                        std::inserter(bulk_parked_, bulk_parked_.end()));
  for (const scheduler::Decision& decision : decided) {
    if (const auto* head = std::get_if<scheduler::Pending>(&decision)) bulk_parked_.erase(name_of(head->workload));
    decisions.push_back(describe(decision, now));
  }
  sort_victims(decisions);
  // Before the victims leave.
  over_ = over_quota();
  for (auto& [name, job] : jobs_) {
    if (job.evicted_in == -1) job.evicted_in = number;
  }
  for (const json& event : input_["events"]) {
    if (event["afterCycle"] != number) continue;
    RecordedJob& job = jobs_.at(event["finish"].get<std::string>());
    const WorkloadPtr workload = read_workload(job.object);
    if (!workload->admitted() || workload->evicted() || workload->finished()) continue;
    set(job, "Finished", "True", "Succeeded", after);
    put(job, after);
    finished_after_.push_back(event["finish"]);
  }
  const int delay = input_["evictionDelayCycles"];
  for (auto& [name, job] : jobs_) {
    if (job.evicted_in <= 0 || number < job.evicted_in + delay) continue;
    release(job, after);
    released_after_.push_back(name);
  }
  return decisions;
}

inline bool RecordedCluster::outstanding(int number) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [](const auto& job) { return job.second.evicted_in != 0; }) ||
         std::any_of(input_["events"].begin(), input_["events"].end(),
                     [&](const json& event) { return event["afterCycle"] > number; });
}

inline json RecordedCluster::final_pending() const {
  json pending = json::object();
  for (const auto& [name, job] : jobs_) {
    const WorkloadPtr workload = read_workload(job.object);
    if (workload->finished() || workload->has_quota_reserved()) continue;
    json entry = {{"where", scheduler::to_text(
                                scheduler::position_of(scheduler_.state(), workload->meta.ns, workload->meta.name))}};
    const Condition* reserved = find_condition(workload->status.conditions, "QuotaReserved");
    if (reserved != nullptr) entry["reason"] = reserved->reason;
    pending[name] = entry;
  }
  return pending;
}

inline json RecordedCluster::final_admitted() const {
  json admitted = json::array();
  for (const auto& [name, job] : jobs_) {
    const WorkloadPtr workload = read_workload(job.object);
    if (!workload->finished() && workload->has_quota_reserved()) admitted.push_back(name);
  }
  return admitted;
}

inline json RecordedCluster::final_finished() const {
  json finished = json::array();
  for (const auto& [name, job] : jobs_) {
    if (read_workload(job.object)->finished()) finished.push_back(name);
  }
  return finished;
}

// Names the root Cohort, or the ClusterQueue without one, and ClusterQueues beyond their limit.
inline std::set<std::string> RecordedCluster::over_quota() const {
  std::map<std::string, std::string> parents;
  for (const json& item : input_["cohorts"]) parents[item["metadata"]["name"]] = item["spec"].value("parentName", "");
  const auto root = [&](std::string name) {
    while (parents.contains(name) && !parents[name].empty()) name = parents[name];
    return name;
  };
  // By tree, flavor and resource.
  std::map<std::array<std::string, 3>, int64_t> unused;
  std::set<std::string> over;
  const auto add_quota = [&](const std::string& tree, const std::vector<ResourceGroup>& groups,
                             const ClusterQueue* queue) {
    for (const ResourceGroup& group : groups) {
      for (const FlavorQuotas& flavor : group.flavors) {
        for (const ResourceQuota& quota : flavor.resources) {
          int64_t& left = unused[{tree, flavor.name, quota.name}];
          const int64_t nominal = to_amount(quota.name, quota.nominal);
          left = saturating_add(left, nominal);
          if (queue == nullptr) continue;
          const int64_t used = usage_of(scheduler_, queue->meta.name, flavor.name, quota.name);
          left -= used;
          if (quota.borrowing_limit && used > saturating_add(nominal, to_amount(quota.name, *quota.borrowing_limit)))
            over.insert(queue->meta.name);
        }
      }
    }
  };
  for (const json& item : input_["cohorts"]) {
    const CohortPtr cohort = read_cohort(item);
    add_quota(root(cohort->meta.name), cohort->resource_groups, nullptr);
  }
  for (const json& item : input_["clusterQueues"]) {
    const ClusterQueuePtr queue = read_cluster_queue(item);
    add_quota(queue->cohort.empty() ? queue->meta.name : root(queue->cohort), queue->resource_groups, queue.get());
  }
  for (const auto& [key, left] : unused) {
    if (left < 0) over.insert(key[0]);
  }
  return over;
}

inline bool RecordedCluster::runs_or_ran(const std::string& name) const {
  return ran_.contains(name);
}

}  // namespace muster::test
