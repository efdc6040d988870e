// Recorded behaviour of jobs and their Workloads, line by line: one pass of the reconciler, and direct calls.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/kinds/kind_description.h"
#include "api/meta/names.h"
#include "jobs/queued_job.h"
#include "reconcilers/job/job_workload.h"
#include "reconcilers/job/job_workload_make.h"
#include "test/reconcilers/job/job_cluster.h"

namespace muster::test {

using nlohmann::json;

// The recordings come from fake clients, which validate nothing.
inline const simulation::ApiServerOptions kRecordedServer{.validates = false};

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
    if (write.target.type->plural != job_type.plural) continue;
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
    const bool of_workload = write.target.type->plural == kWorkloads.plural && write.verb == reconcilers::Verb::kPatch;
    if (of_workload && (spec.contains("podSets") || spec.contains("priority"))) return true;
  }
  return false;
}

// A Workload is deleted, and then loses its finalizer.
inline bool is_removal(const reconcilers::Plan& plan) {
  return std::any_of(plan.writes.begin(), plan.writes.end(), [](const reconcilers::Write& write) {
    return write.target.type->plural == kWorkloads.plural && write.verb == reconcilers::Verb::kDelete;
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

// `input` also has the objects that say more of the job.
template <class Check>
inline void with_job(const json& input, const json& object, Check check) {
  const TypedObject job = read_object(type_of_json(object), object);
  check(jobs::QueuedJob(*jobs::find_job_kind(type_of(job)), job, [&](const ConsultedKind& kind, std::string_view name) {
    for (const json& other : array_at(input, {"objects"})) {
      if (string_at(other, {"kind"}) == kind.kind && string_at(other, {"metadata", "name"}) == name) return &other;
    }
    return static_cast<const json*>(nullptr);
  }));
}

// muster refuses to queue what Ray's autoscaler changes (ray_autoscaling): it has no slices, and looks for no numbers
// in the cluster that runs.
inline bool scales_itself(const json& job) {
  for (const char* field : {"rayClusterSpec", "rayClusterConfig"}) {
    if (bool_at(job, {"spec", field, "enableInTreeAutoscaling"})) return true;
  }
  return bool_at(job, {"spec", "enableInTreeAutoscaling"});
}

inline std::vector<jobs::PodSetInfo> read_infos(const json& list) {
  std::vector<jobs::PodSetInfo> infos;
  for (const json& item : list) {
    jobs::PodSetInfo info = jobs::info_of_template({{"metadata", item}, {"spec", item}});
    info.name = string_at(item, {"name"});
    info.count = int32_at(item, {"count"});
    infos.push_back(std::move(info));
  }
  return infos;
}

// With the templates where they were recorded.
inline json print(const std::vector<PodSet>& pod_sets, const json& recorded) {
  json list = json::array();
  for (const PodSet& pod_set : pod_sets) {
    list.push_back({{"name", pod_set.name},
                    {"count", pod_set.count},
                    {"minCount", pod_set.min_count ? json(*pod_set.min_count) : json()},
                    {"topologyRequest",
                     pod_set.topology_request_text.empty() ? json() : json::parse(pod_set.topology_request_text)}});
    if (!recorded.empty() && recorded[0].contains("template"))
      list.back()["template"] = normalised(pod_set.pod_template.to_json());
  }
  return list;
}

// Values that are no truths are refused when a job is made; of one that is older they count as absent.
inline bool has_bad_topology(const jobs::QueuedJob& job) {
  for (const PodSet& pod_set : job.pod_set_shapes({})) {
    const json pod_template = pod_set.pod_template.to_json();
    if (annotation(pod_template, "kueue.x-k8s.io/podset-unconstrained-topology")) return true;
  }
  return false;
}

inline json recorded_priority(const json& recorded) {
  const json& source = object_at(recorded, {"classRef"});
  return {{"priority", recorded.value("value", json())}, {"priorityClassRef", source.empty() ? json() : source}};
}

// Muster makes no Workload of a job that it cannot read, so only a class that the job itself names says something. The
// pods of a SparkApplication have the class of their template, which Kueue does not read.
inline bool has_comparable_priority(const json& input, const json& recorded, const jobs::QueuedJob& job) {
  if (recorded.contains("error")) return true;
  for (const char* role : {"driver", "executor"}) {
    if (is_of(input["job"], "SparkApplication") &&
        !string_at(input["job"], {"spec", role, "template", "spec", "priorityClassName"}).empty())
      return false;
  }
  return job.readable() || !job.priority_class().empty() || !job.pod_priority_class().empty();
}

// The Workload that muster makes of the job, before its priority, and that.
inline void check_made(const json& input, const json& output, const jobs::QueuedJob& job) {
  JobCluster cluster = cluster_of(input);
  for (const auto& [gate, on] : object_at(input, {"featureGates"}).items())
    cluster.settings.queues.rules.feature_gates[gate] = on;
  const reconcilers::JobContext context{cluster.context(), job};
  const json& recorded = object_at(output, {"priority"});
  if (!recorded.empty() && has_comparable_priority(input, recorded, job)) {
    const auto priority = reconcilers::priority_of(context);
    CHECK(priority.has_value() == !recorded.contains("error"));
    if (priority && !recorded.contains("error")) CHECK(reconcilers::to_json(*priority) == recorded_priority(recorded));
  }
  if (!output.contains("workload") || !job.readable()) return;
  const json made = reconcilers::make_workload(context, {});
  json shown = made["metadata"], wanted = output["workload"];
  shown.erase("namespace");
  for (const char* field : {"queueName", "maximumExecutionTimeSeconds"}) {
    if (made["spec"].contains(field)) shown[field] = made["spec"][field];
  }
  if (string_at(wanted, {"queueName"}).empty()) wanted.erase("queueName");
  // Kueue adds these later, and names slices by what its reconciler writes into a RayJob.
  for (const char* key : {"kueue.x-k8s.io/elastic-job", "kueue.x-k8s.io/workload-slice-name"})
    if (shown.contains("annotations")) shown["annotations"].erase(key);
  if (annotation(input["job"], "kueue.x-k8s.io/raycluster-generation")) shown["name"] = wanted["name"];
  CHECK(normalised(shown) == normalised(wanted));
}

// Which pods are the job's. A name that is no value of a label selects none.
inline void check_pod_selector(const json& output, const jobs::QueuedJob& job) {
  const std::string recorded(string_at(output, {"podLabelSelector"}));
  const size_t from = recorded.find('=') + 1;
  const bool selects = is_valid_label_value(recorded.substr(from, recorded.find(',') - from)).empty();
  // An upgrade has a second cluster, whose pods Kueue does not look for.
  if (job.kind().type.kind == "RayService")
    CHECK(job.pod_selector().find(recorded.substr(from)) != std::string::npos);
  else
    CHECK(job.pod_selector() == (selects ? recorded : ""));
}

inline bool can_default_manager(const jobs::QueuedJob& job) {
  const std::string_view manager = job.managed_by();
  return !job.kind().managed_by_path().empty() && (manager.empty() || manager == job.kind().default_manager);
}

inline void check_status(const json& input, const json& output) {
  with_job(input, input["job"], [&](const jobs::QueuedJob& job) {
    check_made(input, output, job);
    if (output.contains("podLabelSelector")) check_pod_selector(output, job);
    if (output.contains("canDefaultManagedBy")) CHECK(can_default_manager(job) == output["canDefaultManagedBy"]);
    json pods = json::array();
    for (const ReclaimablePod& pod : job.reclaimable_pods()) pods.push_back({{"name", pod.name}, {"count", pod.count}});
    const auto end = job.end();
    if (output.contains("podsReady")) CHECK(job.pods_ready() == output["podsReady"]);
    if (output.contains("managedBy")) CHECK(job.managed_by() == string_at(output, {"managedBy"}));
    // A cluster or application that is not ready can have pods, and one that waits for its repair counts by its pods.
    const bool counts_more = job.kind().type.group == "ray.io" || job.kind().type.group == "sparkoperator.k8s.io";
    if (!counts_more || (output["isActive"] == true && !job.on_hold())) CHECK(job.active() == output["isActive"]);
    CHECK(job.on_hold() == output.value("onHold", false));
    CHECK(job.stopped() == output["isSuspended"]);
    if (output.contains("reclaimablePods")) CHECK(pods == output["reclaimablePods"]);
    if (output.contains("skip")) {
      const bool gate =
          input.value("featureGates", json::object()).value("DeferRayServiceFinalizationForRedisCleanup", true);
      CHECK((job.left_alone() || (gate && job.meta().deleting && job.works_while_deleted())) == output["skip"]);
    }
    const bool looks_elsewhere = scales_itself(input["job"]) && !array_at(input, {"objects"}).empty();
    if (output.contains("podSetsError")) {
      CHECK((!job.why_unreadable().empty() || looks_elsewhere || has_bad_topology(job)));
    } else if (output.contains("podSets") && !looks_elsewhere) {
      json recorded = output["podSets"];
      for (json& pod_set : recorded) {
        if (pod_set.contains("template")) pod_set["template"] = normalised(pod_set["template"]);
      }
      CHECK(print(job.pod_sets({}), recorded) == recorded);
    }
    CHECK(end.has_value() == output["finished"]["finished"]);
    // Of a job that has not finished upstream says different things for different kinds.
    if (!end) return;
    CHECK(end->message == output["finished"]["message"]);
    CHECK(end->success == output["finished"]["success"]);
  });
}

inline void check_start(const json& input, const json& output) {
  with_job(input, input["job"], [&](const jobs::QueuedJob& job) {
    const auto patch = job.start_patch(read_infos(array_at(input, {"podSetsInfo"})));
    const std::string error = patch ? "" : patch.error().message;
    // muster adds the entry, and Kueue waits for somebody to do so.
    const bool no_entry = string_at(output, {"error"}) == "kueue runtime patch not found";
    CHECK(error == (no_entry ? "" : string_at(output, {"error"})));
    // muster tries none again: each error of its start is permanent.
    if (output.contains("error")) CHECK(output["permanent"] == !no_entry);
    if (!patch || output.contains("error")) return;
    json started = input["job"];
    started.merge_patch(*patch);
    // Some start in two steps.
    if (job.kind().restores_once_inactive()) {
      json between = input;
      between["job"] = started;
      with_job(between, started, [&](const jobs::QueuedJob& half) {
        CHECK(half.suspended());
        started.merge_patch(half.start_patch(read_infos(array_at(input, {"podSetsInfo"}))).value());
      });
    }
    CHECK(comparable(without_notes(started)) == comparable(without_notes(recorded_job(input, output))));
  });
}

inline void check_stop(const json& input, const json& output) {
  with_job(input, input["job"], [&](const jobs::QueuedJob& job) {
    const json patch = job.restore_patch(read_infos(array_at(input, {"podSetsInfo"})));
    // Kueue counts the stop of some kinds as a change in any case.
    const bool counted = !is_of(input["job"], "AppWrapper") && !is_of(input["job"], "TrainJob");
    if (counted) CHECK(!patch.is_null() == output["changed"]);
    if (job.kind().restores_once_inactive() && job.active()) {
      CHECK(output["error"] == "jobs are still active");
      return;
    }
    json stopped = input["job"];
    job.kind().set_suspend(stopped, true);
    if (!patch.is_null()) stopped.merge_patch(patch);
    CHECK(comparable(without_notes(stopped)) == comparable(without_notes(recorded_job(input, output))));
  });
}

inline void check_job_line(const json& line) {
  const std::string kind = line["input"]["kind"];
  if (kind == "reconcile") check_reconcile(line);
  if (kind == "status") check_status(line["input"], line["output"]);
  if (kind == "start") check_start(line["input"], line["output"]);
  if (kind == "stop") check_stop(line["input"], line["output"]);
}

}  // namespace muster::test
