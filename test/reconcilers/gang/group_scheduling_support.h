// One gang and its reconciler, and what the Job and JobSet controllers, kubelets and users do, by hand.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/meta/constants.h"
#include "api/meta/time.h"
#include "reconcilers/gang/group_scheduling.h"
#include "test/support/queue_objects.h"
#include "test/support/reconciled_cluster.h"

namespace muster::test {

using std::chrono::milliseconds;
using std::chrono::seconds;

inline constexpr int kTimeout = 300;

inline std::string stamp_of(TimePoint time) {
  return format_rfc3339(to_timestamp(time));
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
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

class GangCluster : public ReconciledCluster {
 public:
  GangCluster() : ReconciledCluster({&reconcilers::group_scheduling_reconciler}) { patched_unversioned = &kPods; }

  ObjectKey owner = key(kJobSets, "train");
  std::string epoch = "epoch-1";
  int attempt = 0;

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
    put(kJobSets, "train", {{"metadata", {{"uid", uid}}}, {"spec", {{"replicatedJobs", list}}}});
    make_jobs();
  }
  // A replicated job waits for another one; its Jobs are those of make_jobset().
  void make_depend(size_t index, const char* on, const char* status) {
    json spec = get(kJobSets, "train")["spec"];
    spec["replicatedJobs"][index]["dependsOn"] = json::array({{{"name", on}, {"status", status}}});
    patch(kJobSets, "train", {{"spec", spec}});
  }
  void count_jobs(const char* name, const char* what) {
    patch(kJobSets, "train", {{"status", {{"replicatedJobsStatus", json::array({{{"name", name}, {what, 1}}})}}}});
  }
  void make_jobs() {
    for (const Replicated& each : replicated_) {
      for (int i = 0; i < each.jobs; ++i) make_job(each, i);
    }
  }
  void make_job(const Replicated& each, int index, bool suspended = false) {
    put(kJobs, "train-" + each.name + "-" + std::to_string(index),
        {{"metadata",
          {{"uid", new_uid()},
           {"ownerReferences", controlled_by(kJobSets, "train", get(kJobSets, "train")["metadata"]["uid"])},
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
    owner = key(kJobs, "train");
    put(kJobs, "train",
        {{"metadata", {{"uid", "job-uid"}}},
         {"spec",
          {{"completionMode", "Indexed"},
           {"parallelism", pods},
           {"completions", pods},
           {"template", waiting_template("train.job-group-scheduling", epoch, suspend_on_timeout)}}}});
  }
  std::string config_map_name() const {
    return owner.type == &kJobs ? "train.job-group-scheduling" : "train-group-scheduling";
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
    put(kPods, name,
        {{"metadata",
          {{"uid", new_uid()},
           {"labels", labels},
           {"annotations", annotations},
           {"ownerReferences", controlled_by(kJobs, job_name, metadata["uid"])}}},
         {"spec", job["spec"]["template"]["spec"]},
         {"status", {{"phase", "Pending"}}}});
    return name;
  }
  // All pods that the Jobs of targets expect.
  Texts make_pods() {
    Texts made;
    for (const std::string& job : job_names()) {
      const json spec = get(kJobs, job)["spec"];
      if (!spec.contains("template") || !spec["template"].contains("spec")) continue;
      for (int i = 0; i < spec["parallelism"]; ++i) made.push_back(make_pod(job, i));
    }
    return made;
  }
  Texts job_names() const { return names(kJobs); }
  void waiter(const std::string& pod, const json& waiter_state, const char* phase = "Pending") {
    patch(kPods, pod,
          {{"status",
            {{"phase", phase},
             {"initContainerStatuses", json::array({{{"name", kGroupInitContainer}, {"state", waiter_state}}})}}}});
  }
  void start(const std::string& pod) { waiter(pod, {{"running", {{"startedAt", stamp()}}}}); }
  void start(const Texts& pods) {
    for (const std::string& pod : pods) start(pod);
  }
  void pass_barrier(const std::string& pod) {
    waiter(pod, {{"terminated", {{"exitCode", 0}, {"startedAt", stamp()}}}}, "Running");
  }

  reconcilers::Plan reconcile() const { return ReconciledCluster::reconcile(owner); }
  Texts settle() { return ReconciledCluster::settle(owner); }
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

 private:
  json template_now() const { return waiting_template("train-group-scheduling", epoch, suspend_on_timeout_); }
  std::string new_uid() { return "uid-" + std::to_string(++uids_); }

  std::vector<Replicated> replicated_;
  bool suspend_on_timeout_ = false;
  int uids_ = 0;
};

// "driver" of one Job with one pod, "workers" of two Jobs with two pods each.
inline GangCluster five_pods() {
  GangCluster cluster;
  cluster.make_jobset({{"driver", 1, 1}, {"workers", 2, 2}});
  return cluster;
}

}  // namespace muster::test
