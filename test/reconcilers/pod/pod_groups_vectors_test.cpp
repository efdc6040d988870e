// Recorded behaviour of pods by themselves and groups of pods.
//
// What differs, each by a rule:
//  - muster's pods have no finalizer, so finalizers are not compared, and what the recordings say is gone is being
//    deleted here: something else holds every pod of the input, as a kubelet does;
//  - a pod that runs without an admitted Workload is deleted, also when others of its group are gated;
//  - no Workload is made for a pod that is being deleted;
//  - a pod by itself that runs uses quota ("active"), which the recordings say of groups only.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/meta/constants.h"
#include "jobs/pod/pod_group.h"
#include "reconcilers/pod/pod_workload.h"
#include "reconcilers/pod/pod_workload_make.h"
#include "reconcilers/pod/pod_workload_run.h"
#include "test/reconcilers/pod/pod_vectors.h"
#include "test/support/vectors.h"

namespace pod_groups_vectors_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;
using nlohmann::json;

namespace {

JobCluster pods_of(const json& input) {
  JobCluster cluster = cluster_of_pods(input);
  cluster.reconcilers = {&pod_workload_reconciler};
  return cluster;
}

std::string group_in(const json& input) {
  return input.value("group", "");
}

template <class Use>
void with_pods(const JobCluster& cluster, const json& input, Use use) {
  std::vector<QueuedPodPtr> pods;
  for (const json& pod : array_at(input, {"pods"}))
    pods.push_back(cluster.state.share<QueuedPod>("team-a", string_at(pod, {"metadata", "name"})));
  if (group_in(input).empty()) pods.resize(1);
  const ReconcileContext context = cluster.context();
  with_context(jobs::make_pod_group(std::move(pods), group_in(input), context.queues().rules, context.now.wall),
               context, use);
}

// --- One pass ---

// Upstream does in one pass what takes several plans here: owners and pods that are too many, what has succeeded, and
// the two writes that delete a pod.
bool goes_on(const Plan& plan, bool single) {
  if (plan.writes.empty()) return false;
  return std::all_of(plan.writes.begin(), plan.writes.end(), [&](const Write& write) {
    const bool of_pod = *write.target.type == kQueuedPods;
    if (of_pod && write.verb == Verb::kPatchStatus) return true;
    // The Workload of a pod that is gone loses its finalizer at once.
    if (!of_pod && write.verb == Verb::kPatchStatus && write.body.dump().find("OwnerNotFound") != std::string::npos)
      return true;
    if (of_pod && write.verb == Verb::kDelete) {
      const std::string& reason = write.events.front().reason;
      return reason == "ExcessPodDeleted" || single;
    }
    return !of_pod && write.verb == Verb::kPatch && write.body.contains("metadata") && !write.body.contains("spec") &&
           !write.body["metadata"].contains("finalizers");
  });
}

// The API server of the recordings gave a pod no time to end.
void end_grace(JobCluster& cluster, const Plan& plan) {
  for (const Write& write : plan.writes) {
    if (*write.target.type != kQueuedPods || cluster.get(kQueuedPods, write.target.name).is_null()) continue;
    cluster.edit(kQueuedPods, write.target.name,
                 [](json& pod) { pod["metadata"].erase("deletionGracePeriodSeconds"); });
  }
}

void run_pod_pass(JobCluster& cluster, const ObjectKey& key) {
  for (int plans = 0; plans < 8; ++plans) {
    const Plan plan = cluster.carried_out(key);
    end_grace(cluster, plan);
    // A Workload that is finished by the pass has no finalizer after it either.
    if (!goes_on(plan, *key.type == kQueuedPods)) return;
  }
  FAIL("a pass does not end");
}

bool is_admitted(const json& input) {
  const json& workloads = array_at(input, {"workloads"});
  return std::any_of(workloads.begin(), workloads.end(), [](const json& workload) {
    const json& conditions = array_at(workload, {"status", "conditions"});
    return std::any_of(conditions.begin(), conditions.end(), [](const json& condition) {
      return condition["type"] == "Admitted" && condition["status"] == "True";
    });
  });
}

// Pods that run while nothing admits them, beside gated or ended ones.
std::set<std::string> unadmitted(const JobCluster& cluster, const json& input) {
  std::set<std::string> names;
  if (group_in(input).empty() || is_admitted(input)) return names;
  with_pods(cluster, input, [&](const PodContext& context) {
    if (!jobs::suspended(context.group) || jobs::end_of(context.group)) return;
    for (const QueuedPodPtr& pod : context.group.pods) {
      if (runs(*pod)) names.insert(pod->meta.name);
    }
  });
  return names;
}

void without(json& events, const std::set<std::string>& names, const std::string& reason) {
  events.erase(
      std::remove_if(events.begin(), events.end(),
                     [&](const json& event) { return names.contains(event["object"]) && event["reason"] == reason; }),
      events.end());
}

void check_pod_reconcile(const json& input, json output) {
  JobCluster cluster = pods_of(input);
  const std::string group = group_in(input);
  const std::string first(string_at(input["pods"][0], {"metadata", "name"}));
  const std::set<std::string> stopped = unadmitted(cluster, input);
  run_pod_pass(cluster,
               group.empty() ? ObjectKey{&kQueuedPods, "team-a", first} : ObjectKey{&kPodGroups, "team-a", group});
  json events = print_events(cluster.events);
  without(events, stopped, "Stopped");
  const bool going = group.empty() && cluster.get(kQueuedPods, first)["metadata"].contains("deletionTimestamp");
  if (going && array_at(input, {"workloads"}).empty()) {
    output["workloads"] = json::array();
    without(output["events"], {first}, "CreatedWorkload");
  }
  check_pods(cluster, input, output["pods"], stopped);
  CHECK(comparable_workloads(cluster.list(kWorkloads)) == comparable_workloads(output["workloads"]));
  CHECK(sorted(events) == sorted(output["events"]));
  for (int plans = 0; plans < 6 && !stopped.empty(); ++plans) cluster.step({&kPodGroups, "team-a", group});
  for (const std::string& name : stopped)
    CHECK(cluster.get(kQueuedPods, name)["metadata"].contains("deletionTimestamp"));
}

// --- Direct calls ---

// As Kueue 0.20.0 answers (gate PodIntegrationCountSucceededPodsAsReady): the recordings are of an earlier version, to
// which a pod that had succeeded was not ready.
bool ready_in_0_20(const PodGroup& group, bool recorded) {
  const auto is_ready = [](const QueuedPodPtr& pod) { return pod->ready || pod->succeeded(); };
  const auto count = group.group.empty() ? Result<int32_t>(1) : jobs::total_count(group);
  return recorded ||
         (std::any_of(group.pods.begin(), group.pods.end(), [](const QueuedPodPtr& pod) { return pod->succeeded(); }) &&
          std::all_of(group.pods.begin(), group.pods.end(), is_ready) && count &&
          static_cast<int64_t>(group.pods.size()) >= *count);
}

void check_pod_status(const json& input, const json& output) {
  const JobCluster cluster = pods_of(input);
  with_pods(cluster, input, [&](const PodContext& context) {
    const PodGroup& group = context.group;
    const jobs::QueuedJob& job = context.job.job;
    const bool misplaced = group.group.empty() && !group.pods.front()->group().empty();
    CHECK(misplaced == output.contains("loadError"));
    if (misplaced) return;
    CHECK(!jobs::is_managed(*group.pods.front()) == output["skip"]);
    CHECK((group.group.empty() && group.meta.deleting) == output["removeFinalizers"]);
    CHECK(job.suspended() == output["isSuspended"]);
    CHECK(job.pods_ready() == ready_in_0_20(group, output["podsReady"]));
    if (!group.group.empty()) CHECK(job.active() == output["isActive"]);
    const auto end = job.end();
    CHECK(end.has_value() == output["finished"]["finished"]);
    if (end) CHECK(end->message == output["finished"]["message"]);
    if (end) CHECK(end->success == output["finished"]["success"]);
    json pods = json::array();
    for (const ReclaimablePod& pod : job.reclaimable_pods()) pods.push_back({{"name", pod.name}, {"count", pod.count}});
    CHECK(sorted(pods) == sorted(output["reclaimablePods"]));
    const auto pod_sets = jobs::pod_sets_of(group);
    CHECK((pod_sets ? "" : pod_sets.error().message) == string_at(output, {"podSetsError"}));
    if (!pod_sets) return;
    json recorded = output["podSets"];
    for (json& pod_set : recorded) pod_set["template"] = normalised(pod_set["template"]);
    json ours = print(job.pod_sets(context.rules()), recorded);
    for (json& pod_set : ours) pod_set["template"].erase("metadata");
    CHECK(ours == recorded);
  });
}

// Whether only other pods can help: muster does not try again before there are some.
bool is_lasting_error(const PodGroup& group) {
  const auto members = jobs::members_of(group);
  if (!members) return members.error().lasting;
  PodGroup kept = group;
  kept.pods = members->members;
  const auto pod_sets = jobs::pod_sets_of(kept);
  return pod_sets ? pod_sets->size() > jobs::kMostRoles : pod_sets.error().lasting;
}

void check_pod_construct(const json& input, const json& output) {
  JobCluster cluster = pods_of(input);
  Plan plan;
  with_pods(cluster, input, [&](const PodContext& context) { make_workload(context, plan); });
  for (const Write& write : plan.writes) cluster.carry_out(write);
  check_pods(cluster, input, output["pods"], {});
  // Nothing is made for pods that are all being deleted, so there is nothing to complain about either.
  const json& pods = input["pods"];
  const bool all_go = std::all_of(pods.begin(), pods.end(),
                                  [](const json& pod) { return pod["metadata"].contains("deletionTimestamp"); });
  if (all_go) {
    CHECK(cluster.list(kWorkloads).empty());
    CHECK(plan.events.empty());
    return;
  }
  if (output.contains("error")) {
    CHECK(cluster.list(kWorkloads).empty());
    REQUIRE(plan.events.size() == 1);
    CHECK(plan.events[0].note == output["error"]);
    CHECK(plan.events[0].reason == "ErrWorkloadCompose");
    // Only a change of the pods leads to another attempt.
    CHECK_FALSE(plan.again_at.has_value());
    with_pods(cluster, input,
              [&](const PodContext& context) { CHECK(is_lasting_error(context.group) == output["unretryable"]); });
    return;
  }
  json ours = comparable_workloads(cluster.list(kWorkloads));
  REQUIRE(ours.size() == 1);
  ours[0]["spec"].erase("priority");
  ours[0]["spec"].erase("priorityClassRef");
  CHECK(ours[0] == comparable_workload(output["workload"]));
  json events = print_events(cluster.events);
  events.erase(std::remove_if(events.begin(), events.end(),
                              [](const json& event) { return event["reason"] == "CreatedWorkload"; }),
               events.end());
  CHECK(sorted(events) == sorted(output["events"]));
}

void check_pod_start(const json& input, const json& output) {
  JobCluster cluster = pods_of(input);
  const auto infos = read_infos(array_at(input, {"podSetsInfo"}));
  // Upstream starts all at the same time, and tells one of the errors.
  std::set<std::string> errors;
  size_t started = 0;
  with_pods(cluster, input, [&](const PodContext& context) {
    for (const QueuedPodPtr& pod : context.group.pods) {
      if (!pod->gated()) continue;
      const auto patch = jobs::ungate_patch(*pod, context.is_group() ? std::string_view(pod->role) : "main", infos);
      if (!patch) {
        errors.insert(patch.error().message);
        continue;
      }
      cluster.apply(Plan{.writes = {{.verb = Verb::kPatch,
                                     .target = key_of(kQueuedPods, pod->meta),
                                     .body = with_version(pod->meta, *patch)}}});
      ++started;
    }
  });
  CHECK(errors.empty() == !output.contains("error"));
  if (!errors.empty()) CHECK(errors.contains(output["error"].get<std::string>()));
  CHECK(output.value("permanent", false) == !errors.empty());
  CHECK(started == output["events"].size());
  check_pods(cluster, input, output["pods"], {});
}

void check_pod_stop(const json& input, const json& output) {
  JobCluster cluster = pods_of(input);
  const std::string reason = input["reason"];
  const WhichPods which = reason == "WorkloadDeleted" ? WhichPods::kAll : WhichPods::kRunning;
  json stopped = json::array();
  for (int plans = 0; plans < 3; ++plans) {
    Plan plan;
    with_pods(cluster, input, [&](const PodContext& context) {
      const Step step = stop_pods(context, which, reason, input["message"], plan);
      CHECK((step == Step::kContinue) == plan.writes.empty());
    });
    cluster.apply(plan);
    for (const Write& write : plan.writes) {
      if (write.verb == Verb::kDelete) stopped.push_back(write.target.name);
    }
  }
  CHECK(sorted(stopped) == sorted(output["stopped"]));
  check_pods(cluster, input, output["pods"], {});
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("pods and groups of pods are read, started and stopped as by the recorded controller") {
    std::set<std::string> seen;
    for (const json& line : load_vectors("pod_groups")) {
      const std::string kind = line["input"]["kind"];
      if (kind == "webhook") continue;
      seen.insert(kind);
      INFO(line["id"].get<std::string>(), " ", line.value("case", ""));
      const json& input = line["input"];
      const json& output = line["output"];
      if (kind == "roleHash") CHECK(shape_hash(input["podSpec"]) == output["hash"]);
      if (kind == "status") check_pod_status(input, output);
      if (kind == "construct") check_pod_construct(input, output);
      if (kind == "start") check_pod_start(input, output);
      if (kind == "stop") check_pod_stop(input, output);
      if (kind == "reconcile") check_pod_reconcile(input, output);
    }
    CHECK(seen == std::set<std::string>{"construct", "reconcile", "roleHash", "start", "status", "stop"});
  }
}

}  // namespace pod_groups_vectors_test
