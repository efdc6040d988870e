// One JobSet "train", its controller, and what other controllers do with its Jobs: they run, end and vanish.
#pragma once

#include <string>
#include <utility>

#include "reconcilers/jobset/jobset.h"
#include "test/support/queue_objects.h"
#include "test/support/reconciled_cluster.h"

namespace muster::test {

// Replicated jobs "driver" (1 Job) and "workers" (2 Jobs of 2 pods).
inline json train_jobset(json spec = json::object()) {
  const auto replicated = [](const char* name, int replicas, int pods) -> json {
    json pod_template = pod_template_of();
    pod_template["spec"]["restartPolicy"] = "OnFailure";
    return {{"name", name},
            {"groupName", "default"},
            {"replicas", replicas},
            {"template",
             {{"spec",
               {{"completionMode", "Indexed"},
                {"parallelism", pods},
                {"completions", pods},
                {"template", pod_template}}}}}};
  };
  json object = {{"metadata", {{"name", "train"}, {"namespace", kNs}, {"uid", "train-uid"}}},
                 {"spec",
                  {{"network", {{"enableDNSHostnames", true}, {"publishNotReadyAddresses", true}}},
                   {"successPolicy", {{"operator", "All"}}},
                   {"startupPolicy", {{"startupPolicyOrder", "AnyOrder"}}},
                   {"replicatedJobs", json::array({replicated("driver", 1, 1), replicated("workers", 2, 2)})}}}};
  object["spec"].merge_patch(spec);
  return object;
}

class JobSetCluster : public ReconciledCluster {
 public:
  explicit JobSetCluster(json jobset = train_jobset()) : ReconciledCluster({&reconcilers::jobset_reconciler}) {
    patched_unversioned = &kJobs;
    settings.queues.rules.jobset_mode = JobSetMode::kNative;
    put(kJobSets, std::move(jobset));
  }

  json status() const { return ReconciledCluster::status(kJobSets, "train"); }
  int status_writes() { return writes["jobsets/status"]; }
  // Of a condition of the JobSet: "True ResumeJobs"; empty when there is none.
  std::string condition(const std::string& type) const { return condition_of(kJobSets, "train", type); }
  std::string counts(const std::string& replicated_job) const {
    for (const json& entry : status().value("replicatedJobsStatus", json::array())) {
      if (entry["name"] == replicated_job) return counts_of(entry);
    }
    return "none";
  }
  // "active=2 ready=1" of an entry of status.replicatedJobsStatus.
  static std::string counts_of(const json& entry) {
    std::string text;
    for (const char* key : {"active", "ready", "succeeded", "failed", "suspended"}) {
      if (entry[key] != 0) text += (text.empty() ? "" : " ") + std::string(key) + "=" + entry[key].dump();
    }
    return text;
  }

  Texts jobs() const { return names(kJobs); }
  // The garbage collector has come to the end of every foreground deletion.
  void collect_garbage() {
    for (const std::string& name : jobs()) {
      if (get(kJobs, name)["metadata"].contains("deletionTimestamp")) vanish(kJobs, name);
    }
  }
  // What the Job controller writes.
  void job_status(const std::string& name, const json& status) { patch(kJobs, name, {{"status", status}}); }
  void run(const std::string& name) {
    const json pods = get(kJobs, name)["spec"]["parallelism"];
    job_status(name, {{"active", pods}, {"ready", pods}, {"startTime", stamp()}});
  }
  void run_all() {
    for (const std::string& name : jobs()) run(name);
  }
  void complete(const std::string& name) {
    const json pods = get(kJobs, name)["spec"]["parallelism"];
    job_status(name, {{"active", 0}, {"ready", 0}, {"succeeded", pods}, {"conditions", ended("Complete", "", "")}});
  }
  void complete_all() {
    for (const std::string& name : jobs()) complete(name);
  }
  void fail(const std::string& name, const char* reason = "BackoffLimitExceeded", const char* message = "") {
    job_status(name, {{"active", 0}, {"ready", 0}, {"conditions", ended("Failed", reason, message)}});
  }

  reconcilers::Plan reconcile() const { return ReconciledCluster::reconcile(key(kJobSets, "train")); }
  Texts settle() { return ReconciledCluster::settle(key(kJobSets, "train")); }

 private:
  json ended(const char* type, const char* reason, const char* message) const {
    return json::array({condition_at(stamp(), type, "True", reason, message)});
  }
};

}  // namespace muster::test
