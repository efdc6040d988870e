// A cluster of jobs and their Workloads, for tests of what stands between them: objects
// as JSON, plans carried out on them as an API server would (versions, finalizers,
// status beside spec), and what other controllers do by hand.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reconcilers/job/job_workload.h"

namespace muster::test {

using nlohmann::json;

class JobCluster {
 public:
  using Edit = std::function<void(json&)>;

  const reconcilers::Reconciler* reconciler = &reconcilers::job_workload_reconciler;
  state::ClusterState state;
  state::SchedulerDriver decisions{QueueSettings()};
  ReconcilerSettings settings;
  // 2026-01-01T12:00:00Z
  Now now{TimePoint(std::chrono::seconds(1'767'268'800)), MonotonicTime(std::chrono::hours(1))};
  std::vector<ObjectEvent> events;  // told so far
  std::vector<Measurement> measurements;
  std::map<std::string, int> writes;  // "jobs", "workloads", "workloads/status"

  // As JSON; null when there is none.
  json get(const ResourceType& type, const std::string& name) const {
    const auto found = objects_.find({std::string(type.plural), name});
    return found == objects_.end() ? json() : found->second;
  }
  json list(const ResourceType& type) const {
    json all = json::array();
    for (const auto& [key, object] : objects_) {
      if (key.first == type.plural) all.push_back(object);
    }
    return all;
  }

  void put(const ResourceType& type, json object) {
    json& metadata = object["metadata"];
    metadata["resourceVersion"] = std::to_string(++version_);
    const std::string name = metadata["name"];
    state.put_watched(read_object(type, object));
    objects_[{std::string(type.plural), name}] = std::move(object);
  }
  void edit(const ResourceType& type, const std::string& name, const Edit& edit) {
    json object = get(type, name);
    REQUIRE_FALSE(object.is_null());
    edit(object);
    put(type, std::move(object));
  }
  // As the API server deletes: what has finalizers stays until they are gone.
  void remove(const ResourceType& type, const std::string& name) {
    json object = get(type, name);
    REQUIRE_FALSE(object.is_null());
    if (!object["metadata"].value("finalizers", json::array()).empty()) {
      object["metadata"]["deletionTimestamp"] = "2026-01-01T12:00:00Z";
      return put(type, std::move(object));
    }
    erase(type, object);
  }

  // Asks once and carries out what is planned.
  reconcilers::Plan reconcile(const ObjectKey& key) {
    reconcilers::Plan plan = reconciler->reconcile(key, {state, decisions, settings, now});
    events.insert(events.end(), plan.events.begin(), plan.events.end());
    for (const reconcilers::Write& write : plan.writes) carry_out(write);
    return plan;
  }
  // Until nothing is wanted any more; how many plans that took.
  int settle(const ObjectKey& key) {
    for (int plans = 0; plans < 20; ++plans) {
      if (reconcile(key).writes.empty()) return plans;
    }
    FAIL("does not come to rest");
    return 0;
  }
  // Whether the server took it.
  bool carry_out(const reconcilers::Write& write) {
    const ResourceType& type = *write.target.type;
    ++writes[std::string(type.plural) + (write.verb == reconcilers::Verb::kPatchStatus ? "/status" : "")];
    json object = get(type, write.target.name);
    if (write.verb == reconcilers::Verb::kCreate) {
      if (!object.is_null()) return false;
      put(type, write.body);
    } else if (object.is_null()) {
      return false;
    } else if (write.verb == reconcilers::Verb::kDelete) {
      if (!write.uid.empty() && write.uid != object["metadata"].value("uid", "")) return false;
      remove(type, write.target.name);
    } else if (!patch(type, object, write)) {
      return false;
    }
    events.insert(events.end(), write.events.begin(), write.events.end());
    measurements.insert(measurements.end(), write.measurements.begin(), write.measurements.end());
    return true;
  }

 private:
  bool patch(const ResourceType& type, json object, const reconcilers::Write& write) {
    json body = write.body;
    const std::string version = body["metadata"].value("resourceVersion", "");
    if (version != object["metadata"]["resourceVersion"]) return false;
    const bool status_only = write.verb == reconcilers::Verb::kPatchStatus;
    for (const auto& [key, value] : body.items()) {
      const std::string part = key;
      CHECK_MESSAGE((part == "metadata" || (part == "status") == status_only), "a write of the wrong part: ", part);
    }
    object.merge_patch(body);
    const json& metadata = object["metadata"];
    const bool gone = metadata.contains("deletionTimestamp") && metadata.value("finalizers", json::array()).empty();
    if (!gone) {
      put(type, std::move(object));
    } else {
      erase(type, object);
    }
    return true;
  }

  void erase(const ResourceType& type, const json& object) {
    const std::string name = object["metadata"]["name"];
    objects_.erase({std::string(type.plural), name});
    state.remove({&type, object["metadata"].value("namespace", ""), name});
  }

  std::map<std::pair<std::string, std::string>, json> objects_;  // by plural and name
  uint64_t version_ = 0;
};

}  // namespace muster::test
