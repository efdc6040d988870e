// A cluster of one JobSet, for tests of the JobSet controller: objects as JSON, plans
// carried out on them as an API server would, and what other controllers do (a Job that
// runs, ends, vanishes) by hand.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "reconcilers/jobset/jobset.h"

namespace muster::test {

using nlohmann::json;

inline constexpr const char* kNs = "team-a";

// Replicated jobs "driver" (1 Job) and "workers" (2 Jobs of 2 pods).
inline json train_jobset(json spec = json::object()) {
  const auto replicated = [](const char* name, int replicas, int pods) -> json {
    return {{"name", name},
            {"groupName", "default"},
            {"replicas", replicas},
            {"template",
             {{"spec",
               {{"completionMode", "Indexed"},
                {"parallelism", pods},
                {"completions", pods},
                {"template", {{"spec", {{"containers", json::array({{{"name", "main"}, {"image", "app"}}})}}}}}}}}}};
  };
  json object = {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                 {"kind", "JobSet"},
                 {"metadata", {{"name", "train"}, {"namespace", kNs}, {"uid", "train-uid"}}},
                 {"spec",
                  {{"network", {{"enableDNSHostnames", true}, {"publishNotReadyAddresses", true}}},
                   {"successPolicy", {{"operator", "All"}}},
                   {"startupPolicy", {{"startupPolicyOrder", "AnyOrder"}}},
                   {"replicatedJobs", json::array({replicated("driver", 1, 1), replicated("workers", 2, 2)})}}}};
  object["spec"].merge_patch(spec);
  return object;
}

class JobSetCluster {
 public:
  using Edit = std::function<void(json&)>;

  explicit JobSetCluster(json jobset = train_jobset()) {
    put(kJobSets, std::move(jobset));
    settings.native_jobsets = true;
  }

  state::ClusterState state;
  state::SchedulerDriver decisions{QueueSettings()};
  ReconcilerSettings settings;
  // 2026-01-01T12:00:00Z
  Now now{TimePoint(std::chrono::seconds(1'767'268'800)), MonotonicTime(std::chrono::hours(1))};
  std::vector<ObjectEvent> events;  // told so far
  int status_writes = 0;

  // As JSON; null when there is none.
  json get(const ResourceType& type, const std::string& name) const {
    const auto found = objects_.find({std::string(type.plural), name});
    return found == objects_.end() ? json() : found->second;
  }
  json status() const { return get(kJobSets, "train").value("status", json::object()); }
  // Of a condition of the JobSet: "True ResumeJobs"; empty when there is none.
  std::string condition(const std::string& type) const {
    for (const json& condition : status().value("conditions", json::array())) {
      if (condition["type"] == type)
        return condition["status"].get<std::string>() + " " + condition["reason"].get<std::string>();
    }
    return "";
  }
  std::string counts(const std::string& replicated_job) const {
    for (const json& entry : status().value("replicatedJobsStatus", json::array())) {
      if (entry["name"] != replicated_job) continue;
      std::string text;
      for (const char* key : {"active", "ready", "succeeded", "failed", "suspended"}) {
        if (entry[key] != 0)
          text += (text.empty() ? "" : " ") + std::string(key) + "=" + std::to_string(int(entry[key]));
      }
      return text;
    }
    return "none";
  }

  void put(const ResourceType& type, json object) {
    json& metadata = object["metadata"];
    metadata["namespace"] = kNs;
    metadata["resourceVersion"] = std::to_string(++version_);
    if (!metadata.contains("uid")) metadata["uid"] = "uid-" + std::to_string(version_);
    if (!metadata.contains("creationTimestamp")) metadata["creationTimestamp"] = time_to_json(to_timestamp(now.wall));
    object["kind"] = type.kind;
    object["apiVersion"] = type.api_version;
    const std::string name = metadata["name"];
    state.put_watched(read_object(type, object));
    objects_[{std::string(type.plural), name}] = std::move(object);
  }
  void edit(const ResourceType& type, const std::string& name, const Edit& change) {
    json object = get(type, name);
    REQUIRE(object.is_object());
    change(object);
    put(type, std::move(object));
  }
  void patch(const ResourceType& type, const std::string& name, const json& merge_patch) {
    edit(type, name, [&](json& object) { object.merge_patch(merge_patch); });
  }
  void vanish(const ResourceType& type, const std::string& name) {
    state.remove({&type, kNs, name});
    objects_.erase({std::string(type.plural), name});
  }
  // The garbage collector has come to the end of every foreground deletion.
  void collect_garbage() {
    for (const std::string& name : jobs()) {
      if (get(kJobs, name)["metadata"].contains("deletionTimestamp")) vanish(kJobs, name);
    }
  }

  std::vector<std::string> jobs() const {
    std::vector<std::string> names;
    for (const auto& [key, object] : objects_) {
      if (key.first == kJobs.plural) names.push_back(key.second);
    }
    return names;
  }
  // What the Job controller writes.
  void job_status(const std::string& name, const json& status) { patch(kJobs, name, {{"status", status}}); }
  void run(const std::string& name) {
    const int pods = get(kJobs, name)["spec"]["parallelism"];
    job_status(name, {{"active", pods}, {"ready", pods}, {"startTime", time_to_json(to_timestamp(now.wall))}});
  }
  void run_all() {
    for (const std::string& name : jobs()) run(name);
  }
  void complete(const std::string& name) {
    const int pods = get(kJobs, name)["spec"]["parallelism"];
    job_status(name, {{"active", 0}, {"ready", 0}, {"succeeded", pods}, {"conditions", ended("Complete", "", "")}});
  }
  void fail(const std::string& name, const char* reason = "BackoffLimitExceeded", const char* message = "") {
    job_status(name, {{"active", 0}, {"ready", 0}, {"conditions", ended("Failed", reason, message)}});
  }
  void pass(Duration time) {
    now.wall += time;
    now.monotonic += time;
  }

  reconcilers::Plan reconcile() const {
    return reconcilers::jobset_reconciler.reconcile({&kJobSets, kNs, "train"}, {state, decisions, settings, now});
  }
  void apply(const reconcilers::Plan& plan) {
    events.insert(events.end(), plan.events.begin(), plan.events.end());
    for (const reconcilers::Write& write : plan.writes) apply(write);
  }
  // Until nothing is wanted any more; every plan on the way. The property that every
  // test of the controller checks by this: it comes to rest.
  std::vector<std::string> settle() {
    std::vector<std::string> done;
    for (int rounds = 0; rounds < 20; ++rounds) {
      const reconcilers::Plan plan = reconcile();
      if (plan.writes.empty()) return done;
      for (const reconcilers::Write& write : plan.writes) done.push_back(text(write));
      apply(plan);
    }
    FAIL_CHECK("the controller does not come to rest");
    return done;
  }

  // "create jobs/x", "patch jobs/x", "status jobsets/x", "delete jobs/x".
  static std::string text(const reconcilers::Write& write) {
    static const std::map<reconcilers::Verb, std::string> kVerbs = {{reconcilers::Verb::kCreate, "create"},
                                                                    {reconcilers::Verb::kPatch, "patch"},
                                                                    {reconcilers::Verb::kPatchStatus, "status"},
                                                                    {reconcilers::Verb::kDelete, "delete"}};
    return kVerbs.at(write.verb) + " " + std::string(write.target.type->plural) + "/" + write.target.name;
  }
  static std::vector<std::string> texts(const reconcilers::Plan& plan) {
    std::vector<std::string> texts;
    for (const reconcilers::Write& write : plan.writes) texts.push_back(text(write));
    return texts;
  }

 private:
  json ended(const char* type, const char* reason, const char* message) const {
    return json::array({{{"type", type},
                         {"status", "True"},
                         {"reason", reason},
                         {"message", message},
                         {"lastTransitionTime", time_to_json(to_timestamp(now.wall))}}});
  }
  void apply(const reconcilers::Write& write) {
    const std::string key_text = text(write);
    INFO(key_text);
    const ResourceType& type = *write.target.type;
    const std::string& name = write.target.name;
    const bool exists = !get(type, name).is_null();
    REQUIRE(exists == (write.verb != reconcilers::Verb::kCreate));
    events.insert(events.end(), write.events.begin(), write.events.end());
    if (write.verb == reconcilers::Verb::kCreate) return put(type, write.body);
    if (write.verb == reconcilers::Verb::kDelete) {
      CHECK(write.uid == get(type, name)["metadata"]["uid"]);
      if (write.propagation == reconcilers::Propagation::kBackground) return vanish(type, name);
      return patch(type, name, {{"metadata", {{"deletionTimestamp", time_to_json(to_timestamp(now.wall))}}}});
    }
    const json version = write.body.value("/metadata/resourceVersion"_json_pointer, json());
    const bool whole = type.kind == kJobSets.kind || write.body.dump().find('[') != std::string::npos;
    if (whole) CHECK(version == get(type, name)["metadata"]["resourceVersion"]);
    const bool status = write.verb == reconcilers::Verb::kPatchStatus;
    CHECK(write.body.contains("status") == status);
    if (status && type.kind == kJobSets.kind) ++status_writes;
    const json before = get(type, name);
    patch(type, name, write.body);
    json after = get(type, name);
    after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"];
    CHECK_MESSAGE(after != before, "a write that changes nothing");
  }

  std::map<std::pair<std::string, std::string>, json> objects_;  // by plural and name
  uint64_t version_ = 100;
};

}  // namespace muster::test
