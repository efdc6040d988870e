#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "jobs/group_scheduling.h"
#include "mutators/waiter_container.h"

namespace muster::mutators::group_scheduling_waiter_container_test {
namespace {

using nlohmann::json;

json container(const jobs::JobKind& kind, const WaiterSettings& settings = {}) {
  return waiter_container(kind, settings, {300, {}}, json::object(), {});
}

TEST_CASE("the waiter of a gang that starts in parts waits for any time") {
  const auto arguments = [](bool starts_in_parts) {
    const jobs::GroupConfig config{300, {"a", "b"}, jobs::GroupTimeoutAction::kFail, starts_in_parts};
    return waiter_container(jobs::jobset, {}, config, json::object(), {})["args"];
  };
  CHECK(arguments(false) == json{"--dir=/mnt/group-scheduling", "--timeout-seconds=300"});
  CHECK(arguments(true) == json{"--dir=/mnt/group-scheduling", "--timeout-seconds=300", "--grace-seconds=31536000"});
}

TEST_CASE("the waiter of a JobSet is the static executable and knows its run by fieldRefs") {
  const json expected = json::parse(R"({
    "name": "group-scheduling-init",
    "image": "registry.example/muster@sha256:1",
    "command": ["/muster-wait"],
    "args": ["--dir=/mnt/group-scheduling", "--timeout-seconds=300"],
    "env": [
      {"name": "MUSTER_OWNER_UID",
       "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/jobset-uid']"}}},
      {"name": "MUSTER_RESTART_ATTEMPT",
       "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['jobset.sigs.k8s.io/restart-attempt']"}}},
      {"name": "MUSTER_EPOCH",
       "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations['muster.batch/group-scheduling-epoch']"}}}],
    "volumeMounts": [{"name": "group-scheduling", "mountPath": "/mnt/group-scheduling", "readOnly": true}],
    "securityContext": {
      "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": true,
      "runAsNonRoot": true, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}}})");
  CHECK(container(jobs::jobset, {.image = "registry.example/muster@sha256:1", .shell_loop = false}) == expected);
  CHECK(jobs::is_waiter(expected));
}

TEST_CASE("a Job has no restart attempts and its own label for the owner") {
  const json env = container(jobs::batch_job)["env"];
  CHECK(env[0]["valueFrom"]["fieldRef"]["fieldPath"] == "metadata.labels['batch.kubernetes.io/controller-uid']");
  CHECK(env[1] == json::parse(R"({"name": "MUSTER_RESTART_ATTEMPT", "value": "0"})"));
}

TEST_CASE("an image that has only a shell gets the loop with the same arguments") {
  const json loop = container(jobs::jobset, {.image = "bash", .shell_loop = true});
  CHECK(loop["image"] == "bash");
  CHECK(loop["command"] == json({"sh", "-c", waiter_shell_loop(), "muster-wait"}));
  CHECK(loop["args"] == container(jobs::jobset)["args"]);
  CHECK(loop["env"] == container(jobs::jobset)["env"]);
  CHECK(loop["securityContext"] == container(jobs::jobset)["securityContext"]);
  CHECK(jobs::is_waiter(loop));
}

struct Row {
  std::string name;
  const char* containers;
  ContainerMinimum minimum;
  const char* amounts;  // requests and limits alike; "null" for no resources at all
};

const Row kRows[] = {
    {"nothing is asked for", R"([{}])", {}, "null"},
    {"no containers", "[]", {}, "null"},
    {"a Guaranteed pod stays Guaranteed",
     R"([{"resources": {"requests": {"cpu": "4", "memory": "8Gi"}, "limits": {"cpu": "4", "memory": "8Gi"}}}])",
     {},
     R"({"cpu": "10m", "memory": "16Mi"})"},
    {"limits alone count as requests",
     R"([{"resources": {"limits": {"cpu": 2, "memory": "1Gi"}}}])",
     {},
     R"({"cpu": "10m", "memory": "16Mi"})"},
    {"a pod of GPUs alone", R"([{"resources": {"limits": {"nvidia.com/gpu": 8}}}])", {}, "null"},
    {"only memory is asked for by all",
     R"([{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}, {"resources": {"requests": {"memory": "1Gi"}}}])",
     {},
     R"({"memory": "16Mi"})"},
    {"never more than the container that asks least",
     R"([{"resources": {"requests": {"cpu": "5m", "memory": "8Mi"}}}, {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}])",
     {},
     R"({"cpu": "5m", "memory": "8Mi"})"},
    {"a request below its limit",
     R"([{"resources": {"requests": {"cpu": "5m"}, "limits": {"cpu": "1"}}}])",
     {},
     R"({"cpu": "5m"})"},
    {"the namespace's minimum",
     R"([{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}])",
     {.cpu = "100m", .memory = "64Mi"},
     R"({"cpu": "100m", "memory": "64Mi"})"},
    {"a minimum below the usual amount",
     R"([{"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}])",
     {.cpu = "1m", .memory = ""},
     R"({"cpu": "10m", "memory": "16Mi"})"},
    {"a minimum above what the pod asks for",
     R"([{"resources": {"requests": {"cpu": "50m"}}}])",
     {.cpu = "100m", .memory = ""},
     R"({"cpu": "50m"})"},
    {"a request of zero is none", R"([{"resources": {"requests": {"cpu": "0", "memory": 0}}}])", {}, "null"},
    {"a quantity that nobody can read", R"([{"resources": {"requests": {"cpu": "much"}}}])", {}, "null"},
};

TEST_CASE("the waiter asks for no more than its pod does") {
  for (const Row& row : kRows) {
    INFO(row.name);
    const json pod_spec = {{"containers", json::parse(row.containers)}};
    const json made = waiter_container(jobs::batch_job, {}, {300, {}}, pod_spec, row.minimum);
    const json amounts = json::parse(row.amounts);
    CHECK(made.contains("resources") == !amounts.is_null());
    if (made.contains("resources")) {
      CHECK(made["resources"] == json({{"requests", amounts}, {"limits", amounts}}));
    }
  }
}

}  // namespace
}  // namespace muster::mutators::group_scheduling_waiter_container_test
