// Recorded behaviour of StatefulSets and LeaderWorkerSets in queues, line by line.
//
// What differs, each by a rule:
//  - no pod is started because its set is gone, or its StatefulSet is not there, or an update will replace it: such a
//    pod keeps its gate. One that a StatefulSet's update replaces is deleted while it waits;
//  - a set that is in no queue has no Workload (upstream asks that before the recorded pass);
//  - a pod gets its group until it has one, whatever other label it has: muster's webhook has given it the label
//    kueue.x-k8s.io/managed;
//  - a Workload that waits counts the pods that its set has now;
//  - values of a topology request that are no truths were refused when the set was made: they count as absent;
//  - a StatefulSet's pods and its Workload are the work of one reconciler, so a line about one of its pods is compared
//    as far as pods go.
#include <doctest/doctest.h>

#include "kinds/serving_types.h"
#include "reconcilers/pod/pod_workload.h"
#include "reconcilers/serving/serving_set.h"
#include "scheduler/eligibility.h"
#include "test/reconcilers/pod/pod_vectors.h"
#include "test/support/vectors.h"

namespace serving_kinds_vectors_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;
using nlohmann::json;

namespace {

const ResourceType& type_of_set(const json& input) {
  return string_at(input, {"for"}) == "LeaderWorkerSet" ? kLeaderWorkerSets : kStatefulSets;
}

JobCluster sets_of(const json& input) {
  JobCluster cluster = cluster_of_pods(input);
  cluster.reconcilers = {&serving_set_reconciler};
  for (const json& object : array_at(input, {"objects"})) cluster.put(type_of_json(object), object);
  if (!input.value("object", json()).is_null()) cluster.put(type_of_json(input["object"]), input["object"]);
  return cluster;
}

bool has_queue(const json& input) {
  const json& labels = object_at(input, {"object", "metadata", "labels"});
  return bool_at(input, {"config", "manageJobsWithoutQueueName"}) ||
         !string_at(labels, {"kueue.x-k8s.io/queue-name"}).empty();
}

bool waits(const json& pod) {
  return !array_at(pod, {"spec", "schedulingGates"}).empty();
}

// Upstream takes the gates off pods that run outside of their group.
void check_never_started(const JobCluster& cluster, const json& input, json& recorded) {
  for (json& out : recorded) {
    const json& spec = object_at(out, {"mergePatch", "spec"});
    if (!spec.contains("schedulingGates")) continue;
    INFO("pod ", out["name"].get<std::string>());
    const json pod = cluster.get(kQueuedPods, out["name"]);
    CHECK(waits(pod));
    const std::string update(string_at(input, {"object", "status", "updateRevision"}));
    const bool replaced = !update.empty() && type_of_set(input) == kStatefulSets;
    CHECK(pod["metadata"].contains("deletionTimestamp") == replaced);
    out["skip"] = true;
  }
}

// Pods with the label and without a group, which the recorded reconciler leaves so.
void check_told(const JobCluster& cluster, const json& input, json& recorded) {
  if (type_of_set(input) != kLeaderWorkerSets) return;
  for (json& out : recorded) {
    const json& pod = *named(array_at(input, {"pods"}), out["name"].get<std::string>(), {"metadata", "name"});
    const bool labelled = !string_at(pod, {"metadata", "labels", "kueue.x-k8s.io/managed"}).empty();
    if (!labelled || !string_at(pod, {"metadata", "annotations", "kueue.x-k8s.io/pod-group-name"}).empty()) continue;
    const json ours = cluster.get(kQueuedPods, out["name"]);
    CHECK(!string_at(ours, {"metadata", "annotations", "kueue.x-k8s.io/pod-group-name"}).empty());
    CHECK(string_at(ours, {"metadata", "labels", "kueue.x-k8s.io/queue-name"}) ==
          string_at(input, {"object", "metadata", "labels", "kueue.x-k8s.io/queue-name"}));
    out["skip"] = true;
  }
}

// Of Workloads that are deleted the pods' reconciler lets go, once no pod runs.
void let_go(JobCluster& cluster) {
  cluster.reconcilers = {&pod_workload_reconciler};
  for (const json& workload : cluster.list(kWorkloads)) {
    const json& metadata = workload["metadata"];
    if (metadata.contains("deletionTimestamp")) cluster.step({&kPodGroups, "team-a", metadata["name"]});
  }
}

bool follows_the_set(const json& workload, const json& recorded) {
  return workload["spec"]["podSets"] != recorded["spec"]["podSets"];
}

void check_workloads(const JobCluster& cluster, const json& input, const json& output) {
  const json ours = comparable_workloads_with_metadata(cluster.list(kWorkloads));
  const json expected = comparable_workloads_with_metadata(array_at(output, {"workloads"}));
  if (!has_queue(input)) {
    CHECK(ours == (array_at(input, {"workloads"}).empty() ? json::array() : expected));
    return;
  }
  REQUIRE(ours.size() == expected.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    json one = ours[i], other = expected[i];
    if (follows_the_set(one, other)) {
      CHECK(one["spec"]["podSets"][0]["count"] == int_at(input, {"object", "spec", "replicas"}).value_or(1));
      one["spec"].erase("podSets");
      other["spec"].erase("podSets");
    }
    CHECK(one == other);
  }
}

void check_serving_reconcile(const json& input, json output) {
  JobCluster cluster = sets_of(input);
  const ResourceType& type = type_of_set(input);
  const bool of_pod = input["kind"] == "podReconcile";
  const std::string name = of_pod ? "srv" : input["name"].get<std::string>();
  cluster.step({&type, "team-a", name});
  let_go(cluster);
  check_never_started(cluster, input, output["pods"]);
  check_told(cluster, input, output["pods"]);
  std::set<std::string> skipped;
  for (const json& out : output["pods"]) {
    if (bool_at(out, {"skip"})) skipped.insert(out["name"]);
  }
  check_pods(cluster, input, output["pods"], skipped);
  if (of_pod) return;
  check_workloads(cluster, input, output);
  json events = json::array(), recorded = json::array();
  const auto is_own = [](const json& event) {
    return event["reason"] == "OutdatedPodDeleted" ||
           event["message"].get<std::string>().starts_with("Updated not matching Workload");
  };
  for (const json& event : print_events(cluster.events)) {
    if (!is_own(event)) events.push_back(event);
  }
  if (has_queue(input)) recorded = array_at(output, {"events"});
  CHECK(sorted(events) == sorted(recorded));
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("sets that serve keep their Workloads and pods as the recorded controllers do") {
    std::map<std::string, int> seen;
    for (const json& line : load_vectors("serving_kinds")) {
      const std::string kind = line["input"]["kind"];
      if (kind == "webhook") continue;
      ++seen[kind];
      INFO(line["id"].get<std::string>(), " ", line.value("case", ""));
      // An error that muster's webhook answers when the set is made.
      if (string_at(line, {"output", "error"}).find("ParseBool") != std::string_view::npos) continue;
      check_serving_reconcile(line["input"], line["output"]);
    }
    CHECK(seen == std::map<std::string, int>{{"podReconcile", 8}, {"reconcile", 55}});
  }
}

}  // namespace serving_kinds_vectors_test
