#include "engine/recording/redaction.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/job.h"
#include "api/meta/resource_type.h"

namespace redaction_test {

using namespace muster;
using namespace muster::recording;
using nlohmann::json;

namespace {

constexpr const char* kSecret = "hunter2";

json kept(const ResourceType& type, const json& object) {
  return redacted(type, object, keyed_hash("key"));
}

bool leaks(const json& object) {
  return object.dump().find(kSecret) != std::string::npos;
}

json pod_template() {
  return json::parse(R"({
    "metadata": {"labels": {"app": "hunter2", "kueue.x-k8s.io/podset": "main"},
                 "annotations": {"example.com/a": "hunter2", "kueue.x-k8s.io/podset-required-topology": "rack"}},
    "spec": {
      "containers": [{"name": "main", "image": "hunter2", "command": ["hunter2"], "args": ["hunter2\n\u0001"],
                      "env": [{"name": "TOKEN", "value": "hunter2"},
                              {"name": "FROM", "valueFrom": {"secretKeyRef": {"name": "hunter2", "key": "hunter2"}}}],
                      "envFrom": [{"secretRef": {"name": "hunter2"}}],
                      "workingDir": "hunter2", "lifecycle": {"postStart": {"exec": {"command": ["hunter2"]}}},
                      "resources": {"requests": {"cpu": "500m"}}, "fieldOfNextYear": {"name": "hunter2"}}],
      "initContainers": [{"name": "group-scheduling-init", "args": ["--timeout-seconds=300", "--timeout-seconds=hunter2"]}],
      "volumes": [{"name": "group-scheduling", "configMap": {"name": "train", "items": [{"key": "hunter2"}]}},
                  {"name": "s", "csi": {"volumeAttributes": {"name": "hunter2"}}}],
      "nodeSelector": {"zone": "a"}, "tolerations": [{"key": "gpu", "operator": "Exists"}],
      "hostname": "hunter2", "imagePullSecrets": [{"name": "hunter2"}], "priorityClassName": "high"}})");
}

}  // namespace

TEST_CASE("redaction: what a user writes into a pod is closed and what decisions read is kept") {
  const json job = {{"apiVersion", "batch/v1"},
                    {"kind", "Job"},
                    {"metadata",
                     {{"name", "train"},
                      {"namespace", "team"},
                      {"resourceVersion", "7"},
                      {"labels", {{"kueue.x-k8s.io/queue-name", "q"}, {"jobset.sigs.k8s.io/job-index", "1"}}},
                      {"annotations",
                       {{"kubectl.kubernetes.io/last-applied-configuration", kSecret},
                        {"muster.batch/submitter", kSecret},
                        {"simulate.muster.batch/run-time", "5m"}}}}},
                    {"spec", {{"parallelism", 3}, {"suspend", true}, {"template", pod_template()}}},
                    {"status", {{"active", 1}}}};
  const json result = kept(kJobs, job);
  CHECK_FALSE(leaks(result));
  const json& pod = result["spec"]["template"]["spec"];
  CHECK(result["metadata"]["name"] == "train");
  CHECK(result["metadata"]["labels"] == job["metadata"]["labels"]);
  CHECK(result["metadata"]["annotations"]["simulate.muster.batch/run-time"] == "5m");
  CHECK(result["spec"]["parallelism"] == 3);
  CHECK(result["spec"]["suspend"] == true);
  CHECK(pod["containers"][0]["resources"] == job["spec"]["template"]["spec"]["containers"][0]["resources"]);
  CHECK(pod["containers"][0]["env"][0]["name"] == "TOKEN");
  CHECK(pod["initContainers"][0]["args"][0] == "--timeout-seconds=300");
  CHECK(pod["nodeSelector"]["zone"] == "a");
  CHECK(pod["tolerations"][0]["key"] == "gpu");
  CHECK(pod["priorityClassName"] == "high");
  // The engine reads the same barrier from it.
  const auto before = read_barrier(job["spec"]["template"]), after = read_barrier(result["spec"]["template"]);
  REQUIRE(before);
  CHECK(before == after);
}

TEST_CASE("redaction: equal strings stay equal under one key and differ under another") {
  const json pod = pod_template();
  const json result = redacted(kJobs, {{"spec", {{"template", pod}}}}, keyed_hash("key"));
  const json& container = result["spec"]["template"]["spec"]["containers"][0];
  CHECK(container["image"] == container["command"][0]);
  CHECK(container["image"] != container["args"][0]);
  CHECK(keyed_hash("key")(kSecret) == container["image"]);
  CHECK(keyed_hash("other")(kSecret) != container["image"]);
  CHECK(keyed_hash("key")(kSecret).size() == 25);
}

TEST_CASE("redaction: jobs of described kinds and what they wrap are closed but for their pod sets") {
  const ResourceType ray{"ray.io", "v1", "rayclusters", "RayCluster", true, "ray.io/v1"};
  const json cluster = {
      {"metadata", {{"name", "r"}}},
      {"spec",
       {{"headGroupSpec", {{"rayStartParams", {{"name", kSecret}}}, {"template", pod_template()}}},
        {"workerGroupSpecs", json::array({{{"groupName", "w"}, {"replicas", 2}, {"template", pod_template()}}})},
        {"runtimeEnvYAML", kSecret}}}};
  json result = kept(ray, cluster);
  CHECK_FALSE(leaks(result));
  CHECK(result["spec"]["workerGroupSpecs"][0]["groupName"] == "w");
  CHECK(result["spec"]["workerGroupSpecs"][0]["replicas"] == 2);
  CHECK(result["spec"]["headGroupSpec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "500m");

  const ResourceType wrapper{"workload.codeflare.dev",        "v1beta2", "appwrappers", "AppWrapper", true,
                             "workload.codeflare.dev/v1beta2"};
  const json secret = {{"apiVersion", "v1"},
                       {"kind", "Secret"},
                       {"metadata", {{"name", "pair"}}},
                       {"stringData", {{"name", kSecret}}},
                       {"data", {{"kind", kSecret}}}};
  result = kept(wrapper, {{"spec", {{"components", json::array({{{"template", secret}}})}}}});
  CHECK_FALSE(leaks(result));
  CHECK(result["spec"]["components"][0]["template"]["kind"] == "Secret");
}

TEST_CASE("redaction: annotations are kept where the code of a kind reads them") {
  json annotations = {{"ray.io/ft-enabled", "true"}, {"workload.codeflare.dev.appwrapper/tas-sub-group-count", "2"}};
  const json read = annotations;
  for (const char* other : {"ray.io/ft-enabled-by", "ray.io/external-storage-namespace", "ray.io/",
                            "workload.codeflare.dev.appwrapper", "workload.codeflare.dev/appwrapper"})
    annotations[other] = kSecret;
  const json result = kept(kJobs, {{"metadata", {{"annotations", annotations}}}});
  CHECK_FALSE(leaks(result));
  for (const auto& [key, value] : read.items()) CHECK(result["metadata"]["annotations"][key] == value);
}

TEST_CASE("redaction: ConfigMaps, Services, messages of ended containers and updates of checks are closed") {
  CHECK_FALSE(leaks(kept(kConfigMaps, {{"data", {{"password", kSecret}}}, {"binaryData", {{"a", kSecret}}}})));
  CHECK(kept(kConfigMaps, {{"data", {{"started", "a\nb"}}}})["data"]["started"] == "a\nb");
  CHECK_FALSE(leaks(kept(kServices, {{"spec", {{"externalName", kSecret}}}})));
  const json ended = {{"name", "main"}, {"state", {{"terminated", {{"message", kSecret}, {"reason", "Error"}}}}}};
  const json pod = kept(kPods, {{"status", {{"phase", "Failed"}, {"containerStatuses", json::array({ended})}}}});
  CHECK_FALSE(leaks(pod));
  CHECK(pod["status"]["containerStatuses"][0]["state"]["terminated"]["reason"] == "Error");
  const json update = {{"name", "main"}, {"annotations", {{"a", kSecret}}}, {"nodeSelector", {{"zone", "a"}}}};
  const json check = {{"name", "c"}, {"podSetUpdates", json::array({update})}};
  const json workload = kept(kWorkloads, {{"status", {{"admissionChecks", json::array({check})}}}});
  CHECK_FALSE(leaks(workload));
  CHECK(workload["status"]["admissionChecks"][0]["podSetUpdates"][0]["nodeSelector"]["zone"] == "a");
}

TEST_CASE("redaction: a field of next year is closed, and so is what has another shape than it should") {
  CHECK_FALSE(leaks(kept(kWorkloads, {{"spec", {{"secretOfNextYear", {{"name", kSecret}}}}}})));
  CHECK_FALSE(leaks(kept(kWorkloads, {{"spec", {{"podSets", kSecret}}}, {"extra", kSecret}})));
  CHECK_FALSE(leaks(kept(kJobs, {{"spec", {{"template", json::array({kSecret})}}}})));
  CHECK_FALSE(leaks(kept(kJobs, {{"metadata", kSecret}})));
  CHECK_FALSE(leaks(kept(kJobs, json::array({kSecret}))));
  CHECK_FALSE(leaks(kept(kClusterQueues, {{"metadata", {{"annotations", {{"note", kSecret}}}}}})));
}

TEST_CASE("redaction: nothing is too deep for the stack") {
  json deep = kSecret;
  for (int i = 0; i < 5000; ++i) deep = json{{"a", std::move(deep)}};
  CHECK_FALSE(leaks(kept(kJobs, {{"spec", deep}})));
  CHECK_FALSE(leaks(kept(kJobs, {{"status", deep}})));
}

}  // namespace redaction_test
