// Objects as the engine holds them, read from what the API server sends.
#include "kinds/typed_object.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/job.h"
#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/pod.h"
#include "api/workload.h"
#include "kinds/watched_kinds.h"

namespace typed_object_test {

using namespace muster;
using nlohmann::json;

namespace {

json gang_template() {
  return {{"metadata", {{"annotations", {{kGroupEpochAnnotation, "epoch-1"}}}}},
          {"spec",
           {{"initContainers",
             {{{"name", "setup"}}, {{"name", kGroupInitContainer}, {"args", {"--dir=/x", "--timeout-seconds=300"}}}}},
            {"volumes", {{{"name", kGroupVolume}, {"configMap", {{"name", "train-group-scheduling"}}}}}}}}};
}

json waiter_status(json state) {
  return {{"status",
           {{"phase", "Pending"},
            {"initContainerStatuses", {{{"name", kGroupInitContainer}, {"state", std::move(state)}}}}}}};
}

}  // namespace

TEST_CASE("typed object: metadata") {
  const ObjectMeta meta = read_meta({{"metadata",
                                      {{"namespace", "team-a"},
                                       {"name", "train"},
                                       {"uid", "u1"},
                                       {"resourceVersion", "1234567890123"},
                                       {"generation", 3},
                                       {"creationTimestamp", "2026-01-01T00:00:00Z"},
                                       {"deletionTimestamp", "2026-01-02T00:00:00Z"},
                                       {"finalizers", {"foregroundDeletion"}},
                                       {"labels", {{"a", "b"}}},
                                       {"annotations", {{"c", "d"}}},
                                       {"ownerReferences",
                                        {{{"kind", "Other"}, {"name", "x"}},
                                         {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                          {"kind", "JobSet"},
                                          {"name", "js"},
                                          {"uid", "u2"},
                                          {"controller", true}}}}}}});
  CHECK(meta.ns == "team-a");
  CHECK(meta.resource_version == 1'234'567'890'123);
  CHECK(meta.generation == 3);
  CHECK(format_rfc3339(meta.created) == "2026-01-01T00:00:00Z");
  CHECK(meta.deleting);
  CHECK(meta.finalizers == std::vector<SharedText>{"foregroundDeletion"});
  CHECK(meta.label("a") == "b");
  CHECK(meta.label("missing").empty());
  CHECK(meta.annotation("c") == "d");
  REQUIRE(meta.controller);
  CHECK(meta.controller->name == "js");
  CHECK(read_meta({{"metadata", {{"resourceVersion", "not a number"}}}}).resource_version == 0);
}

TEST_CASE("typed object: a condition keeps its time until its status changes") {
  const Timestamp early = *parse_rfc3339("2026-01-01T00:00:00Z"), late = *parse_rfc3339("2026-01-02T00:00:00Z");
  Conditions conditions;
  CHECK(set_condition(conditions, {"Ready", "False", "Waiting", "1 of 2", early}));
  CHECK_FALSE(set_condition(conditions, {"Ready", "False", "Waiting", "1 of 2", late}));
  CHECK(set_condition(conditions, {"Ready", "False", "Waiting", "2 of 2", late}));
  CHECK(conditions[0].last_transition == early);
  CHECK_FALSE(condition_is_true(conditions, "Ready"));
  CHECK(set_condition(conditions, {"Ready", "True", "Done", "", late}));
  CHECK(conditions[0].last_transition == late);
  CHECK(condition_is_true(conditions, "Ready"));
  CHECK(read_conditions(to_json(conditions)) == conditions);
}

TEST_CASE("typed object: how many pods a Job may still run") {
  struct Row {
    const char* name;
    json spec;
    json status;
    int32_t expected;
  };
  const json complete = json::array({{{"type", "Complete"}, {"status", "True"}}});
  const Row rows[] = {
      {"one by default", json::object(), json::object(), 1},
      {"parallelism bounds", {{"parallelism", 3}, {"completions", 5}}, json::object(), 3},
      {"what is left bounds", {{"parallelism", 3}, {"completions", 5}}, {{"succeeded", 4}}, 1},
      {"more successes than asked for", {{"parallelism", 3}, {"completions", 5}}, {{"succeeded", 7}}, 0},
      {"a work queue has its parallelism", {{"parallelism", 3}}, {{"succeeded", 2}}, 3},
      {"finished", {{"parallelism", 3}, {"completions", 5}}, {{"conditions", complete}}, 0},
      {"beyond int32", {{"parallelism", 1'000'000'000'000}}, json::object(), 2'147'483'647},
      {"a count below zero", {{"parallelism", 3}, {"completions", 5}}, {{"succeeded", INT32_MIN}}, 3},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    CHECK(read_job({{"spec", row.spec}, {"status", row.status}})->pods_expected() == row.expected);
  }
}

TEST_CASE("typed object: a barrier is known by its reserved names") {
  const auto barrier = read_barrier(gang_template());
  REQUIRE(barrier);
  CHECK(barrier->config_map == "train-group-scheduling");
  CHECK(barrier->epoch == "epoch-1");
  CHECK(barrier->timeout_seconds == 300);
  json without_waiter = gang_template();
  without_waiter["spec"].erase("initContainers");
  CHECK_FALSE(read_barrier(without_waiter));
  json without_volume = gang_template();
  without_volume["spec"].erase("volumes");
  CHECK_FALSE(read_barrier(without_volume));
}

TEST_CASE("typed object: where a pod's waiter stands") {
  struct Row {
    const char* name;
    json object;
    WaiterState expected;
  };
  const json crashed = {{"waiting", {{"reason", "CrashLoopBackOff"}}}};
  json between = waiter_status(crashed);
  between["status"]["initContainerStatuses"][0]["lastState"] = {{"terminated", {{"exitCode", 1}}}};
  const Row rows[] = {
      {"no status at all", json::object(), WaiterState::kNotStarted},
      {"image pull", waiter_status({{"waiting", {{"reason", "ErrImagePull"}}}}), WaiterState::kNotStarted},
      {"runs", waiter_status({{"running", {{"startedAt", "2026-01-01T00:00:00Z"}}}}), WaiterState::kWaiting},
      {"ended well", waiter_status({{"terminated", {{"exitCode", 0}}}}), WaiterState::kPassed},
      {"ended with an error", waiter_status({{"terminated", {{"exitCode", 1}}}}), WaiterState::kFailed},
      {"between two attempts", between, WaiterState::kFailed},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    CHECK(read_pod(row.object)->waiter == row.expected);
  }
}

TEST_CASE("typed object: why a pod has not started is said as the cluster says it") {
  const json pulling = waiter_status({{"waiting", {{"reason", "ErrImagePull"}, {"message", "no such image"}}}});
  CHECK(read_pod(pulling)->hindrance == "ErrImagePull: no such image");
  const json initializing = waiter_status({{"waiting", {{"reason", "PodInitializing"}}}});
  CHECK(read_pod(initializing)->hindrance.empty());
  const json unscheduled = {
      {"status",
       {{"conditions",
         {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}, {"message", "no node"}}}}}}};
  CHECK(read_pod(unscheduled)->hindrance == "Unschedulable: no node");
}

TEST_CASE("typed object: the status of a JobSet survives being written and read") {
  JobSetStatus status;
  status.restarts = 2;
  status.restarts_count_towards_max = 1;
  status.terminal_state = "Failed";
  status.conditions = {{"Failed", "True", "FailedJobs", "why", *parse_rfc3339("2026-01-01T00:00:00Z")}};
  status.replicated_jobs = {{"workers", 1, 2, 3, 4, 5, {0, 6}, {0, 7}}};
  CHECK(read_jobset({{"status", to_json(status)}})->status == status);
}

TEST_CASE("typed object: nothing that has a wrong shape stops the reading") {
  const json shapes[] = {nullptr, 7, "text", json::array(), json::array({nullptr, 1, "x"}), {{"x", json::array({1})}}};
  for (const WatchedKind& kind : watched_kinds()) {
    for (const char* part : {"metadata", "spec", "status", "data"}) {
      for (const json& shape : shapes) {
        INFO(std::string(kind.type->kind) << "." << part << " = " << to_text(shape));
        const TypedObject object = read_object(*kind.type, {{part, shape}});
        CHECK(&type_of(object) == kind.type);
        CHECK(meta_of(object).name.empty());
      }
    }
  }
  for (const char* list : {"replicatedJobs", "failurePolicy", "successPolicy", "network", "coordinator"}) {
    for (const json& shape : shapes) {
      INFO(std::string(list) << " = " << to_text(shape));
      CHECK(read_jobset({{"spec", {{list, shape}}}})->status.restarts == 0);
    }
  }
}

TEST_CASE("typed object: keys name objects and order them") {
  const TypedObject job = read_object(kJobs, {{"metadata", {{"namespace", "team-a"}, {"name", "train"}}}});
  CHECK(to_text(key_of(job)) == "jobs/team-a/train");
  CHECK(to_text(ObjectKey{&kNamespaces, "", "team-a"}) == "namespaces/team-a");
  CHECK(key_of(job) == ObjectKey{&kJobs, "team-a", "train"});
  CHECK(ObjectKey{&kJobs, "a", "b"} < ObjectKey{&kJobs, "a", "c"});
  CHECK_FALSE(ObjectKey{&kJobs, "a", "b"} == ObjectKey{&kJobSets, "a", "b"});
}

}  // namespace typed_object_test
