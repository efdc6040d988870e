// Recorded behaviour of jobs and their Workloads, line by line: the passes of the reconciler.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/queued_job.h"
#include "kinds/kind_description.h"
#include "reconcilers/job/job_workload.h"
#include "test/reconcilers/job/job_cluster.h"

namespace muster::test {

using nlohmann::json;

// The recordings come from fake clients, which validate nothing.
inline const world::ApiServerOptions kRecordedServer{.validates = false};

// What the typed API of the originals leaves out or adds as it prints: empty objects,
// counts of zero, and "restarts" of JobSets.
inline json normalised(const json& value) {
  if (value.is_array()) {
    json list = json::array();
    for (const json& item : value) list.push_back(normalised(item));
    return list;
  }
  if (!value.is_object()) return value;
  json object = json::object();
  for (const auto& [key, item] : value.items()) {
    json kept = normalised(item);
    const bool empty = kept.is_null() || (kept.is_structured() && kept.empty());
    const bool zero = kept == 0 && (key == "observedGeneration" || key == "restarts" || key == "active" ||
                                    key == "succeeded" || key == "failed");
    const bool not_suspended = key == "suspend" && kept == false;
    const bool no_hosts = key == "numOfHosts" && kept == 0;
    const bool no_text = (key == "completedIndexes" || key == "priorityClass") && kept == "";
    if (!empty && !zero && !no_text && !not_suspended && !no_hosts) object[key] = std::move(kept);
  }
  return object;
}

inline json print_events(const std::vector<ObjectEvent>& events) {
  json list = json::array();
  for (const ObjectEvent& event : events) {
    list.push_back(
        {{"object", event.regarding.name}, {"type", event.type}, {"reason", event.reason}, {"message", event.note}});
  }
  return list;
}

// Conditions as a map by type.
inline json comparable(const json& given) {
  json object = normalised(given);
  if (!object.is_object() || object.empty()) return object;
  // The API server's own, which the recordings have not.
  for (const char* key : {"creationTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion", "uid"})
    object["metadata"].erase(key);
  if (!object.contains("status") || !object["status"].contains("conditions")) return object;
  json by_type;
  for (json& condition : object["status"]["conditions"]) {
    condition.erase("observedGeneration");
    by_type[string_at(condition, {"type"})] = condition;
  }
  object["status"]["conditions"] = std::move(by_type);
  return object;
}

inline json comparable_list(const json& list) {
  json result = json::array();
  for (const json& item : list) result.push_back(comparable(item));
  return result;
}

inline ReconcilerSettings settings_of(const json& config) {
  ReconcilerSettings settings;
  QueueSettings& queues = settings.queues;
  queues.rules.manage_jobs_without_queue_name = bool_at(config, {"manageJobsWithoutQueueName"});
  for (const jobs::JobKind* kind : jobs::job_kinds()) queues.rules.frameworks.emplace(kind->framework);
  queues.label_keys_to_copy = strings_at(config, {"labelKeysToCopy"});
  if (bool_at(config, {"waitForPodsReady"})) queues.wait_for_pods_ready.emplace();
  json selector = object_at(config, {"managedJobsNamespaceSelector"});
  if (selector.empty()) {
    selector = {{"matchExpressions", json::array({{{"key", "kubernetes.io/metadata.name"},
                                                   {"operator", "NotIn"},
                                                   {"values", {"kube-system", "kueue-system"}}}})}};
  }
  queues.rules.managed_jobs_namespace_selector = *LabelSelector::parse(selector);
  return settings;
}

inline const ResourceType& type_of_json(const json& object) {
  for (const ResourceType* type :
       {&kWorkloads, &kResourceFlavors, &kPriorityClasses, &kWorkloadPriorityClasses, &kNamespaces}) {
    if (type->kind == string_at(object, {"kind"})) return *type;
  }
  for (const ResourceType* type : queued_types()) {
    if (type->kind == string_at(object, {"kind"})) return *type;
  }
  if (const ResourceType* type =
          find_consulted_kind(group_of(string_at(object, {"apiVersion"})), string_at(object, {"kind"})))
    return *type;
  FAIL("a vector has an object of an unknown kind: ", object.dump());
  return kJobs;
}

inline JobCluster cluster_of(const json& input) {
  JobCluster cluster(settings_of(object_at(input, {"config"})), kRecordedServer);
  json labels = object_at(input, {"namespaceLabels"});
  labels["kubernetes.io/metadata.name"] = kNs;
  cluster.put(kNamespaces, kNs, {{"metadata", {{"labels", labels}}}});
  for (const json& object : array_at(input, {"objects"})) cluster.put(type_of_json(object), object);
  for (const json& workload : array_at(input, {"workloads"})) cluster.put(kWorkloads, workload);
  cluster.put(type_of_json(input["job"]), input["job"]);
  return cluster;
}

inline bool is_stop_step(const reconcilers::Plan& plan, const ResourceType& job_type) {
  for (const reconcilers::Write& write : plan.writes) {
    if (*write.target.type != job_type) continue;
    for (const ObjectEvent& event : write.events) {
      if (event.reason == "Started" || event.note == "Not admitted by cluster queue") return false;
    }
    return true;
  }
  return false;
}

// The Workload's spec was brought in line with the job's.
inline bool is_alignment(const reconcilers::Plan& plan) {
  for (const reconcilers::Write& write : plan.writes) {
    const json& spec = object_at(write.body, {"spec"});
    const bool of_workload = *write.target.type == kWorkloads && write.verb == reconcilers::Verb::kPatch;
    if (of_workload && (spec.contains("podSets") || spec.contains("priority"))) return true;
  }
  return false;
}

// A Workload is deleted, and then loses its finalizer.
inline bool is_removal(const reconcilers::Plan& plan) {
  return std::any_of(plan.writes.begin(), plan.writes.end(), [](const reconcilers::Write& write) {
    return *write.target.type == kWorkloads && write.verb == reconcilers::Verb::kDelete;
  });
}

// A stop that waits until no pod runs any more, since Kubernetes refuses a change of the template
// before. The API server of the recordings did not mind, so here they are gone for one step.
inline reconcilers::Plan step_of_stop(JobCluster& cluster, const ObjectKey& key) {
  reconcilers::Plan plan = cluster.carried_out(key);
  const json job = cluster.get(*key.type, key.name);
  const int64_t active = int_at(job, {"status", "active"}).value_or(0);
  const bool stopping = object_at(job, {"metadata", "annotations"}).contains("kueue.x-k8s.io/stopping");
  if (!plan.writes.empty() || active == 0 || !stopping || !bool_at(job, {"spec", "suspend"})) return plan;
  const auto set_active = [&](int64_t pods) {
    cluster.edit(*key.type, key.name, [&](json& edited) { edited["status"]["active"] = pods; });
  };
  set_active(0);
  plan = cluster.carried_out(key);
  set_active(active);
  return plan;
}

// Upstream does several of our plans in one pass: the steps of a stop with what follows
// it, the steps of a deletion, and bringing a Workload in line with its job.
inline void run_pass(JobCluster& cluster, const ObjectKey& key) {
  for (int step = 0; step < 8; ++step) {
    const reconcilers::Plan plan = step_of_stop(cluster, key);
    // Upstream releases quota without a look at the pods.
    if (!plan.writes.empty() && plan.writes.front().verb == reconcilers::Verb::kFindPods) continue;
    if (!is_stop_step(plan, *key.type) && !is_removal(plan) && !is_alignment(plan)) return;
  }
  FAIL("a pass does not end");
}

// Kueue lets an elastic Job run before it is admitted, since its pods wait behind a gate. muster has no
// such gate, and stops it as any other Job.
inline bool runs_behind_gate(const json& line) {
  const json& annotations = object_at(line, {"input", "job", "metadata", "annotations"});
  if (string_at(annotations, {"kueue.x-k8s.io/elastic-job"}) != "true") return false;
  const auto is_admitted = [](const json& workload) { return !object_at(workload, {"status", "admission"}).empty(); };
  const json& workloads = array_at(line, {"input", "workloads"});
  return !bool_at(line, {"input", "job", "spec", "suspend"}) &&
         std::none_of(workloads.begin(), workloads.end(), is_admitted);
}

inline bool is_of(const json& object, std::string_view kind) {
  return string_at(object, {"kind"}) == kind;
}

// What the controllers of some kinds, or Kueue in their place, write where muster writes nothing: the pod sets that
// it found in an AppWrapper, and templates of a SparkApplication that say nothing.
inline json without_notes(json object) {
  if (is_of(object, "AppWrapper") && object.contains("status")) object["status"].erase("componentStatus");
  if (!is_of(object, "SparkApplication")) return object;
  for (const char* role : {"driver", "executor"}) {
    json& written = object["spec"][role];
    const std::string name = std::string("spark-kubernetes-") + role;
    const json bare = {{"spec", {{"containers", {{{"name", name}}}}}}};
    if (written.is_object() && written.contains("template") && normalised(written["template"]) == bare)
      written.erase("template");
  }
  return object;
}

// The recorded object after a step: what was edited, without the fields that a typed API prints of itself.
inline json recorded_job(const json& line_input, const json& output) {
  if (!output.contains("mergePatch") || output["mergePatch"].is_null()) return output["job"];
  json job = line_input["job"];
  job.merge_patch(output["mergePatch"]);
  return job;
}

// The API server of the recordings let a Workload that holds quota change its queue, which the rules of its definition
// refuse. muster releases the quota first.
inline bool moves_with_quota(const json& line) {
  const json& before = array_at(line, {"input", "workloads"});
  const json& after = array_at(line, {"output", "workloads"});
  return before.size() == 1 && after.size() == 1 && !object_at(after[0], {"status", "admission"}).empty() &&
         string_at(before[0], {"spec", "queueName"}) != string_at(after[0], {"spec", "queueName"});
}

inline void check_move(JobCluster& cluster, const ObjectKey& key, const json& recorded) {
  const auto status = [&] { return object_at(cluster.list(kWorkloads)[0], {"status"}); };
  CHECK_FALSE(status().contains("admission"));
  cluster.carried_out(key);
  CHECK(cluster.list(kWorkloads)[0]["spec"] == recorded["spec"]);
}

inline void check_reconcile(const json& line) {
  const json& input = line["input"];
  const json& output = line["output"];
  JobCluster cluster = cluster_of(input);
  const ResourceType& type = type_of_json(input["job"]);
  const ObjectKey key{&type, "team-a", std::string(string_at(input["job"], {"metadata", "name"}))};
  run_pass(cluster, key);
  if (moves_with_quota(line)) return check_move(cluster, key, output["workloads"][0]);
  if (runs_behind_gate(line)) {
    CHECK(bool_at(cluster.list(type)[0], {"spec", "suspend"}));
    return;
  }
  CHECK(comparable(without_notes(cluster.list(type)[0])) == comparable(without_notes(recorded_job(input, output))));
  CHECK(comparable_list(cluster.list(kWorkloads)) == comparable_list(array_at(output, {"workloads"})));
  CHECK(print_events(cluster.events) == array_at(output, {"events"}));
  // Upstream tries such a pass again and again. muster waits for a change, and writes nothing.
  if (output.contains("error") && bool_at(input["job"], {"spec", "suspend"}))
    CHECK(cluster.reconcile(key).writes.empty());
}

// --- Direct calls ---

}  // namespace muster::test
