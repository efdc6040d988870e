// A namespace with a queue, for tests of explanations: no reconciler runs, and the scheduler decides when a test calls
// it.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "api/meta/constants.h"
#include "explain/explain.h"
#include "state/scheduler_driver.h"
#include "test/support/queue_objects.h"
#include "test/support/reconciled_cluster.h"

namespace muster::test {

class ExplainCluster : public ReconciledCluster {
 public:
  // Flavor f1 with 10 cpus for ClusterQueue "cq", LocalQueue "lq" in namespace "team-a".
  explicit ExplainCluster(ReconcilerSettings given = {}) : ReconciledCluster({}, std::move(given)) {
    put(kNamespaces, kNs, {{"metadata", {{"labels", {{"team", "a"}}}}}});
    put(kResourceFlavors, "f1", json::object());
    put(kClusterQueues, cluster_queue());
    put(kLocalQueues, "lq", {{"spec", {{"clusterQueue", "cq"}}}});
  }

  static json cluster_queue(const json& spec = json::object()) {
    json queue = cluster_queue_of({quota_of("f1", {{"cpu", "10"}})}, spec);
    queue["metadata"]["name"] = "cq";
    return queue;
  }
  static json pod_template(const std::string& cpu) { return pod_template_of({{"cpu", cpu}}); }
  // A Job "train" of two pods in the queue.
  static json job(const json& patch = json::object()) {
    json object = {
        {"metadata",
         {{"name", "train"},
          {"uid", "job-uid"},
          {"creationTimestamp", kHourAgo},
          {"labels", {{kQueueNameLabel, "lq"}}}}},
        {"spec", {{"parallelism", 2}, {"completions", 2}, {"suspend", true}, {"template", pod_template("3")}}}};
    if (!patch.is_null()) object.merge_patch(patch);
    return object;
  }
  // Its Workload "job-train": 2 pods of 3 cpus.
  static json workload(const json& patch = json::object(), const std::string& name = "job-train",
                       const std::string& owner = "train", const std::string& uid = "job-uid") {
    json object = workload_of(2, pod_template("3"));
    object["metadata"] = {
        {"name", name}, {"creationTimestamp", kHourAgo}, {"ownerReferences", controlled_by(kJobs, owner, uid)}};
    object.merge_patch(patch);
    return object;
  }
  json condition(const std::string& type, bool is_true, const std::string& reason, const std::string& message = "",
                 Duration ago = std::chrono::minutes(1)) const {
    return condition_at(stamp(-ago), type, is_true ? "True" : "False", reason, message);
  }
  // The status of a Workload that holds quota.
  json reserved(const json& more = json::array()) const {
    json conditions = {condition("QuotaReserved", true, "QuotaReserved")};
    for (const json& one : more) conditions.push_back(one);
    return {{"status", {{"admission", admission_of(2, {{"cpu", "f1"}}, {{"cpu", "6"}})}, {"conditions", conditions}}}};
  }
  json admitted(const json& more = json::array()) const {
    json conditions = {condition("Admitted", true, "Admitted")};
    for (const json& one : more) conditions.push_back(one);
    return reserved(conditions);
  }

  // Another Workload of the queue, created this many minutes after train's.
  void put_other(const std::string& name, int minutes, const std::string& cpu, const json& patch = json::object()) {
    json made = workload(patch, name, name, name + "-job");
    made["spec"]["podSets"][0]["template"] = pod_template(cpu);
    made["metadata"]["creationTimestamp"] = stamp(std::chrono::minutes(minutes - 60));
    put(kWorkloads, made);
  }
  // What the leader does; a follower only follows.
  void decide() {
    std::vector<ObjectKey> keys;
    decisions.decide(now(), SIZE_MAX, keys);
  }
  void follow() { decisions.follow(now()); }

  // All of a kind, as the API server has them.
  std::vector<json> objects_of(const ResourceType& type) const {
    std::vector<json> found;
    for (const auto& [key, object] : objects_) {
      if (std::get<0>(key) == name_of(type)) found.push_back(object);
    }
    return found;
  }

  ExplainReply ask(const ResourceType& type = kJobs, const std::string& name = "train", bool leads = true) const {
    return explain::explain(key(type, name), context(), leads);
  }

 protected:
  void shown(const ResourceType& type, const json& object) override {
    objects_[key_of(type, object)] = object;
    ReconciledCluster::shown(type, object);
  }
  void gone(const ResourceType& type, const json& last) override {
    objects_.erase(key_of(type, last));
    ReconciledCluster::gone(type, last);
  }

 private:
  static constexpr const char* kHourAgo = "2026-01-01T11:00:00Z";

  // By kind, namespace and name.
  using Objects = std::map<std::tuple<std::string, std::string, std::string>, json>;

  static std::string name_of(const ResourceType& type) {
    return std::string(type.plural) + "." + std::string(type.group);
  }
  static Objects::key_type key_of(const ResourceType& type, const json& object) {
    const json& metadata = object["metadata"];
    return {name_of(type), metadata.value("namespace", ""), metadata["name"].get<std::string>()};
  }

  Objects objects_;
};

}  // namespace muster::test
