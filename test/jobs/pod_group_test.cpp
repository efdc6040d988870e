#include "jobs/pod/pod_group.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/config/rule_settings.h"

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
  rules.feature_gates["FastQuotaReleaseInPodIntegration"] = false;
  CHECK(uses_node(*pod, rules, deleted + seconds(29)));
  CHECK_FALSE(uses_node(*pod, rules, deleted + seconds(30)));
  rules.feature_gates["FastQuotaReleaseInPodIntegration"] = true;
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

}  // namespace

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
