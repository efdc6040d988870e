// Jobs in a world with waitForPodsReady, and what their Workloads went through.
#pragma once

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/codec/json.h"
#include "api/workload.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/simulation/require_done.h"
#include "test/world/world.h"

namespace muster::test {

using namespace muster::world;

// What the Workloads of a run went through, in order, by the name of their job.
struct PodsReadyHistory {
  std::vector<std::string> admitted;
  std::map<std::string, int> evicted;     // by "job reason"
  std::vector<std::string> beside_other;  // admitted while another one held quota and was not ready
  std::map<std::string, WorkloadPtr> now;
};

inline std::string job_of_workload(const Workload& workload) {
  return workload.meta.controller ? workload.meta.controller->name : workload.meta.name;
}

inline std::shared_ptr<PodsReadyHistory> watch(World& world) {
  auto history = std::make_shared<PodsReadyHistory>();
  world.api_server().on_change([history](const Change& change) {
    if (*change.type != kWorkloads) return;
    const WorkloadPtr after = std::get<WorkloadPtr>(read_object(kWorkloads, *change.after));
    const std::string job = job_of_workload(*after);
    WorkloadPtr& known = history->now[job];
    const WorkloadPtr before = std::exchange(known, after);
    if (change.removed) return void(history->now.erase(job));
    if (after->evicted() && (before == nullptr || !before->evicted()))
      ++history->evicted[job + " " + find_condition(after->status.conditions, "Evicted")->reason];
    if (!after->has_quota_reserved() || (before != nullptr && before->has_quota_reserved())) return;
    history->admitted.push_back(job);
    for (const auto& [name, other] : history->now) {
      if (name != job && other->has_quota_reserved() && !other->finished() && !other->is_true("PodsReady"))
        history->beside_other.push_back(job + " beside " + name);
    }
  });
  return history;
}

inline WorldOptions waiting(bool block, uint64_t seed = 1) {
  WaitForPodsReady wait;
  wait.timeout = std::chrono::minutes(2);
  wait.recovery_timeout = std::chrono::minutes(1);
  wait.block_admission = block;
  WorldOptions options{.seed = seed};
  options.queues.wait_for_pods_ready = wait;
  return options;
}

inline void submit(World& world, int cpus, int jobs, int pods) {
  for (const nlohmann::json& object : queues(cpus)) require_done(world.create(object));
  for (int i = 0; i < jobs; ++i) require_done(world.create(queued_job(pods, "job" + std::to_string(i))));
}

// job0, which was first, and a moment later job1.
inline void submit_two(World& world, int cpus) {
  submit(world, cpus, 1, 2);
  world.run_for(std::chrono::seconds(2));
  require_done(world.create(queued_job(2, "job1")));
}

inline int complete(World& world, int jobs) {
  int found = 0;
  for (int i = 0; i < jobs; ++i) found += world.condition_true(job_key("job" + std::to_string(i)), "Complete");
  return found;
}

// Two flavors before the queue `team`: a cpu of the first, and so much of the second.
inline std::vector<nlohmann::json> two_flavors(const std::string& of_second = "1") {
  std::vector<nlohmann::json> objects = queues(1);
  objects.insert(objects.begin() + 1, objects[0]);
  objects[1]["metadata"]["name"] = "second";
  nlohmann::json& flavors = objects[2]["spec"]["resourceGroups"][0]["flavors"];
  flavors.push_back(flavors[0]);
  flavors[1]["name"] = "second";
  flavors[1]["resources"][0]["nominalQuota"] = of_second;
  return objects;
}

// Of a job's Workload; null when there is none.
inline nlohmann::json workload_of(World& world, const std::string& job) {
  for (nlohmann::json& workload : world.list(kWorkloads)) {
    for (const nlohmann::json& owner : array_at(workload, {"metadata", "ownerReferences"})) {
      if (owner["name"] == job) return workload;
    }
  }
  return nullptr;
}

// "False WaitingForPodsReady".
inline std::string condition_of(World& world, const std::string& job, const std::string& type) {
  const nlohmann::json workload = workload_of(world, job);
  for (const nlohmann::json& condition : array_at(workload, {"status", "conditions"})) {
    if (condition["type"] == type)
      return condition["status"].get<std::string>() + " " + condition["reason"].get<std::string>();
  }
  return "";
}

// Of the cpus of a job's Workload; empty while it has no quota.
inline std::string flavor_of(World& world, const std::string& job) {
  const nlohmann::json workload = workload_of(world, job);
  const nlohmann::json& pod_sets = array_at(workload, {"status", "admission", "podSetAssignments"});
  return pod_sets.empty() ? "" : std::string(string_at(pod_sets[0], {"flavors", "cpu"}));
}

inline std::string message_of(World& world, const std::string& job, const std::string& type) {
  const nlohmann::json workload = workload_of(world, job);
  for (const nlohmann::json& condition : array_at(workload, {"status", "conditions"})) {
    if (condition["type"] == type) return condition["message"];
  }
  return "";
}

}  // namespace muster::test
