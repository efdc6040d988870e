// A cluster with one gang, for tests of the group reconciler: objects as JSON, plans
// carried out on them as an API server would, and the part of everybody else (the Job
// and JobSet controllers, kubelets, users) played by hand.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "api/meta/constants.h"
#include "api/meta/time.h"
#include "reconcilers/gang/group_scheduling.h"

namespace muster::gang_test {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr const char* kSpace = "team-a";
inline constexpr int kTimeout = 300;

inline std::string stamp(TimePoint time) {
  return format_rfc3339(to_timestamp(time));
}

// A pod template that waits at this ConfigMap.
inline json waiting_template(const std::string& config_map, const std::string& epoch, bool suspend_on_timeout = false) {
  json annotations = {{kGroupEpochAnnotation, epoch}};
  if (suspend_on_timeout) annotations[std::string(kGroupOnTimeoutAnnotation)] = "Suspend";
  return {
      {"metadata", {{"annotations", annotations}, {"labels", {{kGroupLabel, "true"}}}}},
      {"spec",
       {{"initContainers",
         json::array({{{"name", kGroupInitContainer},
                       {"args", {"--dir=/mnt/group-scheduling", "--timeout-seconds=" + std::to_string(kTimeout)}}}})},
        {"volumes", json::array({{{"name", kGroupVolume}, {"configMap", {{"name", config_map}}}}})}}}};
}

struct Replicated {
  std::string name;
  int jobs;
  int pods;
  bool target = true;
};

class GangCluster {
 public:
  state::ClusterState state;
  Now now{TimePoint(seconds(1'800'000'000)), MonotonicTime(std::chrono::hours(1))};
  ObjectKey owner{&kJobSets, kSpace, "train"};
  std::vector<ObjectEvent> events;  // told so far
  std::string epoch = "epoch-1";
  int attempt = 0;

  // --- Objects ---

  json get(const ResourceType& type, const std::string& name) const {
    const auto found = objects_.find({std::string(type.plural), name});
    return found == objects_.end() ? json() : found->second;
  }
  void put(const ResourceType& type, json object) {
    json& metadata = object["metadata"];
    metadata["namespace"] = kSpace;
    metadata["resourceVersion"] = std::to_string(++version_);
    if (!metadata.contains("uid")) metadata["uid"] = "uid-" + std::to_string(version_);
    if (!metadata.contains("creationTimestamp")) metadata["creationTimestamp"] = stamp(now.wall);
    object["kind"] = type.kind;
    object["apiVersion"] = type.api_version;
    const std::string name = metadata["name"];
    state.put_watched(read_object(type, object));
    objects_[{std::string(type.plural), name}] = std::move(object);
  }
  void patch(const ResourceType& type, const std::string& name, const json& merge_patch) {
    json object = get(type, name);
    REQUIRE(object.is_object());
    object.merge_patch(merge_patch);
    put(type, std::move(object));
  }
  void vanish(const ResourceType& type, const std::string& name) {
    state.remove({&type, kSpace, name});
    objects_.erase({std::string(type.plural), name});
  }

  // --- The gang ---

  // A JobSet named train and its Jobs; pods come by make_pods().
  void make_jobset(const std::vector<Replicated>& replicated_jobs, bool suspend_on_timeout = false,
                   const std::string& uid = "jobset-uid") {
    replicated_ = replicated_jobs;
    suspend_on_timeout_ = suspend_on_timeout;
    json list = json::array();
    for (const Replicated& each : replicated_jobs) {
      const json pod_template = each.target ? template_now() : json::object();
      list.push_back(
          {{"name", each.name},
           {"replicas", each.jobs},
           {"template",
            {{"spec", {{"parallelism", each.pods}, {"completions", each.pods}, {"template", pod_template}}}}}});
    }
    put(kJobSets, {{"metadata", {{"name", "train"}, {"uid", uid}}}, {"spec", {{"replicatedJobs", list}}}});
    make_jobs();
  }
  void make_jobs() {
    for (const Replicated& each : replicated_) {
      for (int i = 0; i < each.jobs; ++i) make_job(each, i);
    }
  }
  void make_job(const Replicated& each, int index, bool suspended = false) {
    const std::string uid = get(kJobSets, "train")["metadata"]["uid"];
    const json reference = {{"apiVersion", kJobSets.api_version},
                            {"kind", "JobSet"},
                            {"name", "train"},
                            {"uid", uid},
                            {"controller", true}};
    put(kJobs, {{"metadata",
                 {{"name", "train-" + each.name + "-" + std::to_string(index)},
                  {"ownerReferences", json::array({reference})},
                  {"labels",
                   {{kJobSetNameKey, "train"},
                    {kReplicatedJobNameKey, each.name},
                    {kJobIndexKey, std::to_string(index)},
                    {kRestartAttemptLabel, std::to_string(attempt)}}}}},
                {"spec",
                 {{"suspend", suspended},
                  {"completionMode", "Indexed"},
                  {"parallelism", each.pods},
                  {"completions", each.pods},
                  {"template", each.target ? template_now() : json::object()}}}});
  }
  // An annotated Job named train, without a JobSet.
  void make_own_job(int pods, bool suspend_on_timeout = false) {
    owner = {&kJobs, kSpace, "train"};
    put(kJobs, {{"metadata", {{"name", "train"}, {"uid", "job-uid"}}},
                {"spec",
                 {{"completionMode", "Indexed"},
                  {"parallelism", pods},
                  {"completions", pods},
                  {"template", waiting_template("train-job-group-scheduling", epoch, suspend_on_timeout)}}}});
  }
  std::string config_map_name() const {
    return owner.type == &kJobs ? "train-job-group-scheduling" : "train-group-scheduling";
  }
  json data() const { return get(kConfigMaps, config_map_name()).value("data", json::object()); }
  std::string started() const { return data().value("started", ""); }
  std::string expired() const { return data().value("expired", ""); }
  std::string token() const {
    return owner.type == &kJobs ? "job-uid/0/" + epoch : "jobset-uid/" + std::to_string(attempt) + "/" + epoch;
  }
  std::string line() const { return token() + "\n"; }

  // --- Pods ---

  // Named <job>-<index>-<suffix>, of the Job's present run.
  std::string make_pod(const std::string& job_name, int index, const std::string& suffix = "x") {
    const json job = get(kJobs, job_name);
    const json metadata = job["metadata"];
    json labels = metadata.value("labels", json::object());
    if (owner.type == &kJobSets) labels[std::string(kJobSetUidLabel)] = metadata["ownerReferences"][0]["uid"];
    labels[std::string(kControllerUidLabel)] = metadata["uid"];
    json annotations = job["spec"]["template"]["metadata"]["annotations"];
    annotations[std::string(kCompletionIndexAnnotation)] = std::to_string(index);
    const std::string name = job_name + "-" + std::to_string(index) + "-" + suffix;
    const json reference = {{"apiVersion", "batch/v1"},
                            {"kind", "Job"},
                            {"name", job_name},
                            {"uid", metadata["uid"]},
                            {"controller", true}};
    put(kPods, {{"metadata",
                 {{"name", name},
                  {"labels", labels},
                  {"annotations", annotations},
                  {"ownerReferences", json::array({reference})}}},
                {"spec", job["spec"]["template"]["spec"]},
                {"status", {{"phase", "Pending"}}}});
    return name;
  }
  // All pods that the Jobs of targets expect.
  std::vector<std::string> make_pods() {
    std::vector<std::string> names;
    for (const std::string& job : job_names()) {
      if (!get(kJobs, job)["spec"]["template"].contains("spec")) continue;
      const int pods = get(kJobs, job)["spec"]["parallelism"];
      for (int i = 0; i < pods; ++i) names.push_back(make_pod(job, i));
    }
    return names;
  }
  std::vector<std::string> job_names() const {
    std::vector<std::string> names;
    for (const auto& [key, object] : objects_) {
      if (key.first == kJobs.plural) names.push_back(key.second);
    }
    return names;
  }
  void waiter(const std::string& pod, const json& waiter_state, const char* phase = "Pending") {
    patch(kPods, pod,
          {{"status",
            {{"phase", phase},
             {"initContainerStatuses", json::array({{{"name", kGroupInitContainer}, {"state", waiter_state}}})}}}});
  }
  void start(const std::string& pod) { waiter(pod, {{"running", {{"startedAt", stamp(now.wall)}}}}); }
  void start(const std::vector<std::string>& pods) {
    for (const std::string& pod : pods) start(pod);
  }
  void pass_barrier(const std::string& pod) {
    waiter(pod, {{"terminated", {{"exitCode", 0}, {"startedAt", stamp(now.wall)}}}}, "Running");
  }
  void pass_time(Duration time) {
    now.wall += time;
    now.monotonic += time;
  }

  // --- Plans ---

  state::SchedulerDriver decisions{QueueSettings()};
  ReconcilerSettings settings;
  reconcilers::ReconcileContext context() const { return {state, decisions, settings, now}; }
  reconcilers::Plan reconcile() const { return reconcilers::group_scheduling_reconciler.reconcile(owner, context()); }
  // Until nothing is wanted any more; every write on the way. Checks by the way that the
  // reconciler comes to rest, and that it writes nothing that is so already.
  std::vector<std::string> settle() {
    std::vector<std::string> done;
    for (int rounds = 0; rounds < 30; ++rounds) {
      const reconcilers::Plan plan = reconcile();
      if (plan.writes.empty()) return done;
      for (const reconcilers::Write& write : plan.writes) {
        done.push_back(text(write));
        apply(write);
      }
    }
    FAIL_CHECK("the reconciler does not come to rest");
    return done;
  }
  void apply(const reconcilers::Write& write) {
    const std::string key_text = text(write);
    INFO(key_text);
    const ResourceType& type = *write.target.type;
    const std::string& name = write.target.name;
    const json before = get(type, name);
    REQUIRE(before.is_null() == (write.verb == reconcilers::Verb::kCreate));
    if (strangers.contains(name)) return state.note_taken(write.target, now.monotonic + seconds(30));
    events.insert(events.end(), write.events.begin(), write.events.end());
    if (write.verb == reconcilers::Verb::kCreate) return put(type, write.body);
    if (write.verb == reconcilers::Verb::kDelete) {
      CHECK(write.uid == before["metadata"]["uid"]);
      return vanish(type, name);
    }
    const json version = write.body.value("/metadata/resourceVersion"_json_pointer, json());
    if (type.kind != kPods.kind) CHECK(version == before["metadata"]["resourceVersion"]);
    // An annotation of a pod is written through its status, too.
    if (type.kind != kPods.kind)
      CHECK(write.body.contains("status") == (write.verb == reconcilers::Verb::kPatchStatus));
    patch(type, name, write.body);
    json after = get(type, name);
    after["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"];
    CHECK_MESSAGE(after != before, "a write that changes nothing");
  }
  // ConfigMaps of others, which muster does not see: a create is answered AlreadyExists.
  std::map<std::string, bool> strangers;

  static std::string text(const reconcilers::Write& write) {
    static const std::map<reconcilers::Verb, std::string> kVerbs = {{reconcilers::Verb::kCreate, "create"},
                                                                    {reconcilers::Verb::kPatch, "patch"},
                                                                    {reconcilers::Verb::kPatchStatus, "status"},
                                                                    {reconcilers::Verb::kDelete, "delete"}};
    return kVerbs.at(write.verb) + " " + std::string(write.target.type->plural) + "/" + write.target.name;
  }
  // "False WaitingForPods: ..." of a condition of the owner; empty when there is none.
  std::string condition(const std::string& type = "GroupStarted") const {
    const json object = get(*owner.type, "train");
    for (const json& each : object.value("/status/conditions"_json_pointer, json::array())) {
      if (each["type"] != type) continue;
      return each["status"].get<std::string>() + " " + each["reason"].get<std::string>() + ": " +
             each["message"].get<std::string>();
    }
    return "";
  }
  std::string note_of(const std::string& reason) const {
    for (const ObjectEvent& event : events) {
      if (event.reason == reason) return event.type + ": " + event.note;
    }
    return "";
  }
  int64_t count_events(const std::string& reason) const {
    return std::count_if(events.begin(), events.end(), [&](const ObjectEvent& e) { return e.reason == reason; });
  }

 private:
  json template_now() const { return waiting_template("train-group-scheduling", epoch, suspend_on_timeout_); }

  std::vector<Replicated> replicated_;
  bool suspend_on_timeout_ = false;
  std::map<std::pair<std::string, std::string>, json> objects_;  // by plural and name
  uint64_t version_ = 100;
};

// "driver" of one Job with one pod, "workers" of two Jobs with two pods each.
inline GangCluster five_pods() {
  GangCluster cluster;
  cluster.make_jobset({{"driver", 1, 1}, {"workers", 2, 2}});
  return cluster;
}

}  // namespace muster::gang_test
