#include "jobs/pod/pod_group.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/config/rule_settings.h"
#include "api/workload.h"

namespace pod_group_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;
using std::chrono::seconds;

TEST_CASE("pods: one that is being deleted uses its node until its grace period is over, and with the gate no longer") {
  const json object = {{"apiVersion", "v1"},
                       {"kind", "Pod"},
                       {"metadata",
                        {{"name", "a"},
                         {"namespace", "team-a"},
                         {"uid", "1"},
                         {"deletionTimestamp", "2026-01-01T12:00:00Z"},
                         {"deletionGracePeriodSeconds", 30}}},
                       {"spec", {{"nodeName", "n"}}},
                       {"status", {{"phase", "Running"}}}};
  const QueuedPodPtr pod = read_queued_pod(object);
  const TimePoint deleted = to_time_point(pod->deleted);
  RuleSettings rules;
  rules.feature_gates.set(Gate::kFastQuotaReleaseInPodIntegration, false);
  CHECK(uses_node(*pod, rules, deleted + seconds(29)));
  CHECK_FALSE(uses_node(*pod, rules, deleted + seconds(30)));
  rules.feature_gates.set(Gate::kFastQuotaReleaseInPodIntegration, true);
  CHECK_FALSE(uses_node(*pod, rules, deleted));

  json running = object;
  running["metadata"].erase("deletionTimestamp");
  CHECK(uses_node(*read_queued_pod(running), rules, deleted));
}

namespace {

QueuedPodPtr pod_named(const std::string& name, const char* phase, json annotations = json::object()) {
  annotations["kueue.x-k8s.io/role-hash"] = "worker";
  return read_queued_pod({{"apiVersion", "v1"},
                          {"kind", "Pod"},
                          {"metadata",
                           {{"name", name},
                            {"namespace", "team-a"},
                            {"uid", name},
                            {"labels", {{"team", name}}},
                            {"annotations", std::move(annotations)}}},
                          {"spec", {{"containers", json::array()}}},
                          {"status", {{"phase", phase}}}});
}

QueuedPodPtr ready_pod(const std::string& name, const char* phase, const char* ready) {
  json pod = {{"apiVersion", "v1"}, {"kind", "Pod"}, {"metadata", {{"name", name}, {"namespace", "a"}, {"uid", name}}}};
  pod["metadata"]["annotations"] = {{"kueue.x-k8s.io/pod-group-total-count", "2"}};
  pod["status"] = {{"phase", phase}, {"conditions", json::array({{{"type", "Ready"}, {"status", ready}}})}};
  return read_queued_pod(pod);
}

}  // namespace

// A group whose first pod had succeeded was evicted at the timeout of its recovery.
TEST_CASE("pod groups: pods that have succeeded, also those that are not there any more, count as ready") {
  const auto of = [](std::vector<QueuedPodPtr> pods) { return make_pod_group(std::move(pods), "g", {}, TimePoint()); };
  const QueuedPodPtr runs = ready_pod("a", "Running", "True"), ended = ready_pod("b", "Succeeded", "False");
  CHECK(pods_ready(of({runs, ended})));
  CHECK_FALSE(pods_ready(of({runs, ready_pod("b", "Running", "False")})));
  CHECK_FALSE(pods_ready(of({runs, ready_pod("b", "Failed", "False")})));
  PodGroup one_gone = of({runs});
  CHECK_FALSE(pods_ready(one_gone));
  one_gone.gone["worker"] = 1;
  CHECK(pods_ready(one_gone));
}

TEST_CASE("pod groups: names of roles and of pods do not decide which role gets a flavor first") {
  const auto pod = [](const std::string& name, const std::string& role, const char* cpu) {
    return read_queued_pod(
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          {{"name", name},
           {"namespace", "a"},
           {"uid", name},
           {"annotations", {{"kueue.x-k8s.io/role-hash", role}, {"kueue.x-k8s.io/pod-group-total-count", "2"}}}}},
         {"spec", {{"containers", json::array({{{"name", "c"}, {"resources", {{"requests", {{"cpu", cpu}}}}}}})}}}});
  };
  const auto shapes = [&](const std::string& small, const std::string& large) {
    std::vector<std::string> names;
    const auto pod_sets =
        pod_sets_of(make_pod_group({pod("a", small, "1"), pod("b", large, "2")}, "g", {}, TimePoint()));
    REQUIRE(pod_sets.ok());
    for (const PodSet& pod_set : *pod_sets) names.push_back(pod_set.name == small ? "small" : "large");
    return names;
  };
  CHECK(shapes("1", "2") == shapes("2", "1"));
  // Of one shape: the names of the pods decide.
  const auto same = pod_sets_of(make_pod_group({pod("a", "z", "1"), pod("b", "y", "1")}, "g", {}, TimePoint()));
  REQUIRE(same.ok());
  CHECK((*same)[0].name == "z");
}

TEST_CASE("pod groups: a Workload of another order of roles is the group's") {
  Workload workload;
  for (const char* role : {"worker", "other"}) {
    workload.pod_sets.emplace_back().name = role;
    workload.pod_sets.back().count = 1;
  }
  const PodGroup group = make_pod_group({pod_named("a", "Running", {{"kueue.x-k8s.io/pod-group-total-count", "1"}})},
                                        "g", {}, TimePoint());
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(match(group, workload, Timestamp()).suits);
    std::swap(workload.pod_sets[0], workload.pod_sets[1]);
  }
}

TEST_CASE("pod groups: a group with fast admission misses a pod only if it has none, every other group each pod") {
  struct Row {
    const char* annotation;
    const char* value;
    std::vector<const char*> phases;
    int32_t absent;
  };
  const Row rows[] = {{"kueue.x-k8s.io/pod-group-fast-admission", "true", {"Running", "Failed"}, 0},
                      {"kueue.x-k8s.io/pod-group-fast-admission", "true", {"Failed", "Failed"}, 1},
                      {"kueue.x-k8s.io/pod-group-fast-admission", "false", {"Running", "Failed"}, 2},
                      {"kueue.x-k8s.io/pod-group-serving", "true", {"Running", "Running"}, 1},
                      {"example.com/other", "", {"Running", "Failed"}, 2}};
  Workload workload;
  PodSet& pod_set = workload.pod_sets.emplace_back();
  pod_set.name = "worker";
  pod_set.count = 3;
  for (const Row& row : rows) {
    INFO(row.annotation, "=", row.value);
    std::vector<QueuedPodPtr> pods;
    for (const char* phase : row.phases)
      pods.push_back(pod_named("p" + std::to_string(pods.size()), phase, {{row.annotation, row.value}}));
    const PodGroup group = make_pod_group(std::move(pods), "group", {}, TimePoint());
    CHECK(match(group, workload, Timestamp()).absent == row.absent);
  }
}

TEST_CASE("pod groups: pods that disagree about a label that the Workload gets are an error") {
  const auto labels = labels_to_copy({pod_named("a", "Running"), pod_named("b", "Running")}, {"team"});
  REQUIRE_FALSE(labels.ok());
  CHECK(labels.error().message == "constructing workload: pods have different label values");
}

}  // namespace pod_group_test
