// A cluster of queues, flavors, checks and Workloads for tests of their reconcilers:
// objects as JSON, plans carried out on them as an API server would, finalizers included.
#pragma once

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reconcilers/queues/admission_check.h"
#include "reconcilers/queues/cluster_queue.h"
#include "reconcilers/queues/local_queue.h"
#include "reconcilers/queues/resource_flavor.h"
#include "reconcilers/workload/workload.h"

namespace muster::test {

using nlohmann::json;

inline constexpr const char* kInUse = "kueue.x-k8s.io/resource-in-use";

class QueueCluster {
 public:
  state::ClusterState state;
  state::SchedulerDriver decisions{QueueSettings()};
  ReconcilerSettings settings;
  // 2026-01-01T12:00:00Z
  Now now{TimePoint(std::chrono::seconds(1'767'268'800)), MonotonicTime(std::chrono::hours(1))};
  std::vector<std::string> events;  // reasons told so far
  std::vector<Measurement> measurements;

  static ObjectKey key(const ResourceType& type, const std::string& name) {
    return {&type, type.namespaced ? "team-a" : "", name};
  }
  static ObjectKey workload_key(const std::string& name = "wl") { return key(kWorkloads, name); }

  // As JSON; null when there is none.
  json get(const ResourceType& type, const std::string& name) const {
    const auto found = objects_.find(key(type, name));
    return found == objects_.end() ? json() : found->second;
  }
  void put(const ResourceType& type, const std::string& name, json object) {
    json& metadata = object["metadata"];
    metadata["name"] = name;
    if (type.namespaced) metadata["namespace"] = "team-a";
    metadata["resourceVersion"] = std::to_string(++version_);
    if (!metadata.contains("uid")) metadata["uid"] = name + "-uid";
    if (!metadata.contains("creationTimestamp")) metadata["creationTimestamp"] = stamp(Duration::zero());
    const TypedObject typed = read_object(type, object);
    auto change = state.put_watched(typed);
    objects_[key(type, name)] = std::move(object);
    if (change && change->before) concern(*change->before);
    concern(typed);
  }
  void patch(const ResourceType& type, const std::string& name, const json& merge_patch) {
    json object = get(type, name);
    REQUIRE(object.is_object());
    object.merge_patch(merge_patch);
    put(type, name, std::move(object));
  }
  void remove(const ResourceType& type, const std::string& name) {
    objects_.erase(key(type, name));
    if (const auto removed = state.remove(key(type, name))) concern(*removed);
  }
  // What a user's delete does: at once only where there is no finalizer.
  void ask_to_go(const ResourceType& type, const std::string& name) {
    if (get(type, name)["metadata"].value("finalizers", json::array()).empty()) return remove(type, name);
    patch(type, name, {{"metadata", {{"deletionTimestamp", stamp(Duration::zero())}}}});
  }

  // One flavor, cpu 10 and memory 10Gi; the ClusterQueue "cq" and the LocalQueue "lq" to it.
  void put_queues(const json& cluster_queue_spec = json::object(), const json& local_queue_spec = json::object()) {
    put(kResourceFlavors, "f1", {{"metadata", {{"finalizers", {kInUse}}}}});
    json spec = {
        {"namespaceSelector", json::object()},
        {"resourceGroups",
         {{{"coveredResources", {"cpu", "memory"}},
           {"flavors",
            {{{"name", "f1"},
              {"resources",
               {{{"name", "cpu"}, {"nominalQuota", "10"}}, {{"name", "memory"}, {"nominalQuota", "10Gi"}}}}}}}}}}};
    spec.merge_patch(cluster_queue_spec);
    put(kClusterQueues, "cq", {{"metadata", {{"finalizers", {kInUse}}, {"generation", 1}}}, {"spec", spec}});
    json local = {{"clusterQueue", "cq"}};
    local.merge_patch(local_queue_spec);
    put(kLocalQueues, "lq", {{"spec", local}});
  }
  static json workload(const json& spec = json::object(), const json& status = json::object()) {
    json object = {{"spec",
                    {{"queueName", "lq"},
                     {"podSets", {{{"name", "main"}, {"count", 2}, {"template", {{"spec", json::object()}}}}}}}},
                   {"status", status}};
    object["spec"].merge_patch(spec);
    return object;
  }
  static json admission(const char* cpu = "2", const char* memory = "2Gi") {
    return {{"clusterQueue", "cq"},
            {"podSetAssignments",
             {{{"name", "main"},
               {"count", 2},
               {"flavors", {{"cpu", "f1"}, {"memory", "f1"}}},
               {"resourceUsage", {{"cpu", cpu}, {"memory", memory}}}}}}};
  }
  json condition(const char* type, const char* status, const char* reason, Duration ago = std::chrono::minutes(1),
                 const char* message = "m") const {
    return {{"type", type},
            {"status", status},
            {"reason", reason},
            {"message", message},
            {"lastTransitionTime", stamp(-ago)}};
  }
  json reserved_status(Duration ago = std::chrono::minutes(1)) const {
    return {{"admission", admission()}, {"conditions", {condition("QuotaReserved", "True", "QuotaReserved", ago)}}};
  }
  json admitted_status(Duration ago = std::chrono::minutes(1)) const {
    json status = reserved_status(ago);
    status["conditions"].push_back(condition("Admitted", "True", "Admitted", ago));
    return status;
  }
  std::string stamp(Duration from_now) const { return format_rfc3339(to_timestamp(now.wall + from_now)); }

  // Of a condition: "True Admitted"; empty when there is none.
  std::string condition_of(const ResourceType& type, const std::string& name, const std::string& of) const {
    for (const json& condition : get(type, name).value("/status/conditions"_json_pointer, json::array())) {
      if (condition["type"] == of)
        return condition["status"].get<std::string>() + " " + condition["reason"].get<std::string>();
    }
    return "";
  }
  std::string workload_condition(const std::string& of) const { return condition_of(kWorkloads, "wl", of); }
  json status(const ResourceType& type, const std::string& name) const {
    return get(type, name).value("status", json::object());
  }
  void pass(Duration time) {
    now.wall += time;
    now.monotonic += time;
  }

  reconcilers::Plan reconcile(const ObjectKey& key) const {
    reconcilers::Plan plan;
    for (const reconcilers::Reconciler* reconciler : kReconcilers) {
      reconcilers::Plan part = reconciler->reconcile(key, {state, decisions, settings, now});
      if (part.again_at) plan.wake_at(*part.again_at);
      plan.writes.insert(plan.writes.end(), part.writes.begin(), part.writes.end());
    }
    return plan;
  }
  // One pass; the writes as text: "status workloads/wl".
  std::vector<std::string> step(const ObjectKey& key) {
    std::vector<std::string> done;
    for (const reconcilers::Write& write : reconcile(key).writes) done.push_back(apply(write));
    return done;
  }
  std::vector<std::string> step() { return step(workload_key()); }
  // Until nothing is wanted any more: the property that every test checks by this.
  std::vector<std::string> settle(const ObjectKey& key) {
    std::vector<std::string> done;
    for (int rounds = 0; rounds < 20; ++rounds) {
      const std::vector<std::string> now_done = step(key);
      if (now_done.empty()) return done;
      done.insert(done.end(), now_done.begin(), now_done.end());
    }
    FAIL_CHECK("the reconcilers do not come to rest");
    return done;
  }
  std::vector<std::string> settle() { return settle(workload_key()); }
  // What the job's reconciler does once the job has stopped.
  void stop_job() {
    json after = status(kWorkloads, "wl");
    json conditions = json::array();
    std::string reason;
    for (const json& condition : after["conditions"]) {
      const std::string type = condition["type"];
      if (type == "Evicted") reason = condition["reason"];
      if (type == "Evicted" || type == "DeactivationTarget") conditions.push_back(condition);
    }
    conditions.push_back(condition("Requeued", "False", reason.c_str(), std::chrono::seconds(0)));
    conditions.push_back(condition("QuotaReserved", "False", "PendingEvaluation", std::chrono::seconds(0)));
    conditions.push_back(
        condition("Admitted", "False", "NoReservation", std::chrono::seconds(0), "The workload has no reservation"));
    after["conditions"] = std::move(conditions);
    after.erase("admission");
    json object = get(kWorkloads, "wl");
    object["status"] = std::move(after);
    put(kWorkloads, "wl", object);
  }
  json requeue_state() const { return status(kWorkloads, "wl").value("requeueState", json()); }
  // Only keys that a change has concerned, as the engine does.
  void settle_concerned() {
    for (int rounds = 0; rounds < 200 && !concerned.empty(); ++rounds) {
      for (const ObjectKey& key : std::exchange(concerned, {})) step(key);
    }
    CHECK(concerned.empty());
  }
  std::vector<ObjectKey> concerned;

 private:
  static constexpr std::array<const reconcilers::Reconciler*, 5> kReconcilers = {
      &reconcilers::workload_reconciler, &reconcilers::cluster_queue_reconciler, &reconcilers::local_queue_reconciler,
      &reconcilers::resource_flavor_reconciler, &reconcilers::admission_check_reconciler};

  void concern(const TypedObject& object) {
    for (const reconcilers::Reconciler* reconciler : kReconcilers) reconciler->requests_for(state, object, concerned);
  }
  std::string apply(const reconcilers::Write& write) {
    const ResourceType& type = *write.target.type;
    const std::string& name = write.target.name;
    const std::string text = std::string(type.plural) + "/" + name;
    INFO(text);
    const json before = get(type, name);
    REQUIRE(before.is_object());
    for (const ObjectEvent& event : write.events) events.push_back(event.reason);
    measurements.insert(measurements.end(), write.measurements.begin(), write.measurements.end());
    if (write.verb == reconcilers::Verb::kDelete) {
      CHECK(write.uid == before["metadata"]["uid"]);
      ask_to_go(type, name);
      return "delete " + text;
    }
    CHECK(write.body["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]);
    CHECK(write.body.contains("status") == (write.verb == reconcilers::Verb::kPatchStatus));
    json after = before;
    after.merge_patch(write.body);
    CHECK_MESSAGE(after != before, "a write that changes nothing");
    const bool gone =
        after["metadata"].contains("deletionTimestamp") && after["metadata"].value("finalizers", json::array()).empty();
    if (gone)
      remove(type, name);
    else
      put(type, name, std::move(after));
    return (write.verb == reconcilers::Verb::kPatchStatus ? "status " : "patch ") + text;
  }

  std::map<ObjectKey, json> objects_;
  uint64_t version_ = 100;
};

}  // namespace muster::test
