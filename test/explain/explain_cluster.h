// A namespace with a queue, for tests of explanations: objects as JSON, the scheduler fed
// with them as the engine does.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/meta/constants.h"
#include "explain/explain.h"
#include "state/scheduler_driver.h"

namespace muster::test {

using nlohmann::json;

class ExplainCluster {
 public:
  // 2026-01-01T12:00:00Z
  Now now{TimePoint(std::chrono::seconds(1'767'268'800)), MonotonicTime(std::chrono::hours(1))};
  ReconcilerSettings settings;
  state::ClusterState state;
  state::SchedulerDriver decisions;

  // Flavor f1 with 10 cpus for ClusterQueue "cq", LocalQueue "lq" in namespace "team-a".
  explicit ExplainCluster(ReconcilerSettings given = {})
      : settings(std::move(given)), state(settings.queues), decisions(settings.queues) {
    put(kNamespaces, {{"metadata", {{"name", "team-a"}, {"labels", {{"team", "a"}}}}}});
    put(kResourceFlavors, {{"metadata", {{"name", "f1"}}}});
    put(kClusterQueues, cluster_queue());
    put(kLocalQueues, {{"metadata", {{"name", "lq"}}}, {"spec", {{"clusterQueue", "cq"}}}});
  }

  static json cluster_queue(const json& spec = json::object()) {
    json object = {
        {"metadata", {{"name", "cq"}}},
        {"spec",
         {{"namespaceSelector", json::object()},
          {"resourceGroups",
           {{{"coveredResources", {"cpu"}},
             {"flavors", {{{"name", "f1"}, {"resources", {{{"name", "cpu"}, {"nominalQuota", "10"}}}}}}}}}}}}};
    object["spec"].merge_patch(spec);
    return object;
  }
  static json pod_template(const std::string& cpu) {
    return {{"spec",
             {{"containers", {{{"name", "main"}, {"image", "i"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}}}}}};
  }
  // A Job "train" of two pods in the queue.
  static json job(const json& patch = json::object()) {
    json object = {
        {"metadata", {{"name", "train"}, {"uid", "job-uid"}, {"labels", {{kQueueNameLabel, "lq"}}}}},
        {"spec", {{"parallelism", 2}, {"completions", 2}, {"suspend", true}, {"template", pod_template("3")}}},
        {"status", json::object()}};
    if (!patch.is_null()) object.merge_patch(patch);
    return object;
  }
  // Its Workload "job-train": 2 pods of 3 cpus.
  static json workload(const json& patch = json::object(), const std::string& name = "job-train",
                       const std::string& owner = "train", const std::string& uid = "job-uid") {
    json object = {
        {"metadata",
         {{"name", name},
          {"uid", name + "-uid"},
          {"creationTimestamp", "2026-01-01T11:00:00Z"},
          {"ownerReferences",
           {{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", owner}, {"uid", uid}, {"controller", true}}}}}},
        {"spec",
         {{"queueName", "lq"}, {"podSets", {{{"name", "main"}, {"count", 2}, {"template", pod_template("3")}}}}}},
        {"status", json::object()}};
    object.merge_patch(patch);
    return object;
  }
  json condition(const std::string& type, bool is_true, const std::string& reason, const std::string& message = "",
                 Duration ago = std::chrono::minutes(1)) const {
    return {{"type", type},
            {"status", is_true ? "True" : "False"},
            {"reason", reason},
            {"message", message},
            {"lastTransitionTime", format_rfc3339(to_timestamp(now.wall - ago))}};
  }
  static json admission(const std::string& cpu = "6") {
    return {{"clusterQueue", "cq"},
            {"podSetAssignments",
             {{{"name", "main"}, {"count", 2}, {"flavors", {{"cpu", "f1"}}}, {"resourceUsage", {{"cpu", cpu}}}}}}};
  }
  // The status of a Workload that holds quota.
  json reserved(const json& more = json::array()) const {
    json conditions = {condition("QuotaReserved", true, "QuotaReserved")};
    for (const json& one : more) conditions.push_back(one);
    return {{"status", {{"admission", admission()}, {"conditions", conditions}}}};
  }
  json admitted(const json& more = json::array()) const {
    json conditions = {condition("Admitted", true, "Admitted")};
    for (const json& one : more) conditions.push_back(one);
    return reserved(conditions);
  }

  void put(const ResourceType& type, json object) {
    json& metadata = object["metadata"];
    if (type.namespaced && !metadata.contains("namespace")) metadata["namespace"] = "team-a";
    metadata["resourceVersion"] = std::to_string(++version_);
    if (!metadata.contains("uid")) metadata["uid"] = metadata["name"].get<std::string>() + "-uid";
    if (!metadata.contains("creationTimestamp")) metadata["creationTimestamp"] = "2026-01-01T11:00:00Z";
    const TypedObject typed = read_object(type, object);
    state.put_watched(typed);
    const ObjectKey key = key_of(typed);
    decisions.put(*state.find(type, key.ns, key.name), state, now);
  }
  void remove(const ResourceType& type, const std::string& name) {
    const auto removed = state.remove({&type, type.namespaced ? "team-a" : "", name});
    REQUIRE(removed);
    decisions.remove(*removed, state, now);
  }
  // Another Workload of the queue, created so many minutes after train's.
  void put_other(const std::string& name, int minutes, const std::string& cpu, const json& patch = json::object()) {
    json made = workload(patch, name, name, name + "-job");
    made["spec"]["podSets"][0]["template"] = pod_template(cpu);
    made["metadata"]["creationTimestamp"] =
        format_rfc3339(to_timestamp(now.wall - std::chrono::hours(1) + std::chrono::minutes(minutes)));
    put(kWorkloads, made);
  }
  // What the leader does; a follower only follows.
  void decide() {
    std::vector<ObjectKey> keys;
    decisions.decide(now, SIZE_MAX, keys);
  }
  void follow() { decisions.follow(now); }

  ExplainReply ask(const ResourceType& type = kJobs, const std::string& name = "train", bool leads = true) const {
    return explain::explain({&type, "team-a", name}, {state, decisions, settings, now}, leads);
  }

 private:
  uint64_t version_ = 100;
};

}  // namespace muster::test
