// Recorded behaviour of jobs and their Workloads, line by line: direct calls, and all kinds of lines.
#pragma once

#include "api/meta/names.h"
#include "reconcilers/job/job_workload_make.h"
#include "test/reconcilers/job/job_pass_vectors.h"
#include "test/support/recorded_gates.h"

namespace muster::test {

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

inline std::vector<PodSetInfo> read_infos(const json& list) {
  std::vector<PodSetInfo> infos;
  for (const json& item : list) {
    PodSetInfo info = info_of_template({{"metadata", item}, {"spec", item}});
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
  set_named_gates(input, cluster.settings.queues.rules.feature_gates);
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
    // muster adds the entry, and Kueue waits for a user to do so.
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
