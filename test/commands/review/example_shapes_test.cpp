// The shapes of Kueue's example workloads, as facts: kind, and what is special about it. With Kueue's configuration as
// it is shipped each is queued, or the user reads why not.
#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "commands/review/review.h"
#include "kinds/kind_description.h"

namespace example_shapes_test {

using namespace muster;
using namespace muster::commands;
using nlohmann::json;

namespace {

json pod_spec(json more = json::object()) {
  json spec = {{"restartPolicy", "Never"},
               {"containers",
                {{{"name", "main"},
                  {"image", "example.com/main:1"},
                  {"resources", {{"requests", {{"cpu", "1"}, {"memory", "200Mi"}}}}}}}}};
  spec.merge_patch(more);
  return spec;
}

json pod_template(json more = json::object()) {
  return {{"spec", pod_spec(std::move(more))}};
}

json object(const char* api_version, const char* kind, json spec, json metadata = json::object()) {
  json made = {
      {"apiVersion", api_version},
      {"kind", kind},
      {"metadata",
       {{"name", "sample"}, {"namespace", "team-a"}, {"labels", {{"kueue.x-k8s.io/queue-name", "user-queue"}}}}},
      {"spec", std::move(spec)}};
  made["metadata"].merge_patch(metadata);
  return made;
}

json says(json annotations) {
  return {{"annotations", std::move(annotations)}};
}
json labelled(const char* key, const char* value) {
  return {{"labels", {{key, value}}}};
}

json job(json spec = json::object(), json metadata = json::object()) {
  json made = {{"parallelism", 3}, {"completions", 3}, {"suspend", true}, {"template", pod_template()}};
  made.merge_patch(spec);
  return object("batch/v1", "Job", std::move(made), std::move(metadata));
}

json jobset(json annotations = json::object()) {
  json of_pods = pod_template();
  of_pods["metadata"] = says(std::move(annotations));
  return object("jobset.x-k8s.io/v1alpha2", "JobSet",
                {{"replicatedJobs",
                  {{{"name", "workers"},
                    {"replicas", 2},
                    {"template", {{"spec", {{"parallelism", 2}, {"completions", 2}, {"template", of_pods}}}}}}}}});
}

json kubeflow(const char* kind, const char* field, const char* first, const char* api_version = "kubeflow.org/v1") {
  const json replicas = {{"replicas", 1}, {"restartPolicy", "OnFailure"}, {"template", pod_template()}};
  return object(api_version, kind, {{field, {{first, replicas}, {"Worker", replicas}}}});
}

json ray_cluster(bool scales = false) {
  json cluster = {{"rayVersion", "2.9.0"},
                  {"headGroupSpec", {{"rayStartParams", json::object()}, {"template", pod_template()}}},
                  {"workerGroupSpecs",
                   {{{"groupName", "workers"},
                     {"replicas", 1},
                     {"minReplicas", 1},
                     {"maxReplicas", 5},
                     {"rayStartParams", json::object()},
                     {"template", pod_template()}}}}};
  if (scales) cluster["enableInTreeAutoscaling"] = true;
  return cluster;
}

json app_wrapper(json wrapped, json pod_sets) {
  return object("workload.codeflare.dev/v1beta2", "AppWrapper",
                {{"components", {{{"template", std::move(wrapped)}, {"podSets", std::move(pod_sets)}}}}});
}

json pod(json metadata = json::object(), json more = json::object()) {
  return object("v1", "Pod", pod_spec(std::move(more)), std::move(metadata));
}

json serving(const char* kind, json more = json::object(), json of_pods = json::object()) {
  json of_template = pod_template({{"restartPolicy", nullptr}});
  of_template["metadata"] = {{"labels", {{"app", "web"}}}, {"annotations", std::move(of_pods)}};
  json spec = {{"replicas", 3}, {"selector", {{"matchLabels", {{"app", "web"}}}}}, {"template", of_template}};
  spec.merge_patch(more);
  return object("apps/v1", kind, std::move(spec));
}

json leader_worker_set(json of_pods = json::object()) {
  json of_template = pod_template({{"restartPolicy", nullptr}});
  of_template["metadata"] = says(std::move(of_pods));
  return object(
      "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet",
      {{"replicas", 2},
       {"leaderWorkerTemplate", {{"size", 3}, {"leaderTemplate", of_template}, {"workerTemplate", of_template}}}});
}

struct ShapeOutcome {
  int code;
  std::vector<json> objects;
  std::string told;
};

ShapeOutcome review_of(const json& sample, const std::vector<json>& beside) {
  std::string input = write_yaml(sample);
  for (const json& each : beside) input += "---\n" + write_yaml(each);
  std::istringstream in(input);
  std::ostringstream out, err;
  ReviewOptions options;
  options.sources.files = {"-"};
  options.config_file = std::string(MUSTER_SOURCE_DIR) + "/test/support/kueue_as_shipped.yaml";
  ShapeOutcome outcome{review(options, {in, out, err}), {}, err.str()};
  const auto documents = read_yaml(out.str());
  REQUIRE_MESSAGE(documents.ok(), out.str());
  for (const YamlDocument& document : *documents) outcome.objects.push_back(document.value);
  return outcome;
}

bool is_gated(const json& pod) {
  for (const json& gate : array_at(pod, {"spec", "schedulingGates"}))
    if (string_at(gate, {"name"}) == "kueue.x-k8s.io/admission") return true;
  return false;
}

// It starts when muster lets it: it is suspended, or its pods are.
bool waits(const json& stored) {
  const std::string_view kind = string_at(stored, {"kind"});
  if (kind == "Pod") return is_gated(stored);
  for (const auto& path : {std::vector<std::string_view>{"spec", "template"},
                           std::vector<std::string_view>{"spec", "leaderWorkerTemplate", "workerTemplate"}}) {
    const json* found = &stored;
    for (const std::string_view step : path) found = &object_at(*found, {step});
    if (kind != "Job" &&
        !string_at(*found, {"metadata", "annotations", "kueue.x-k8s.io/pod-suspending-parent"}).empty())
      return true;
    if (kind == "Deployment" && !string_at(*found, {"metadata", "labels", "kueue.x-k8s.io/queue-name"}).empty())
      return true;
  }
  const auto slash = string_at(stored, {"apiVersion"}).find('/');
  const KindDescription* described = find_described_kind(string_at(stored, {"apiVersion"}).substr(0, slash), kind);
  if (described != nullptr)
    return described->suspend.find(stored) != nullptr && *described->suspend.find(stored) == described->suspended_when;
  return bool_at(stored, {"spec", "suspend"});
}

constexpr const char* kQueued = "";

}  // namespace

TEST_CASE("review: the shapes of Kueue's examples are queued, or the user is told why not") {
  struct Row {
    const char* name;
    json object;
    const char* told;  // kQueued: it waits in its queue
    std::vector<json> beside{};
  };
  const json topology = {{"kueue.x-k8s.io/podset-required-topology", "cloud.provider.com/topology-rack"}};
  const json claims = {{"resourceClaims", {{{"name", "gpu"}, {"resourceClaimTemplateName", "single-gpu"}}}}};
  const json runtime = {
      {"apiVersion", "trainer.kubeflow.org/v1alpha1"},
      {"kind", "ClusterTrainingRuntime"},
      {"metadata", {{"name", "torch-distributed"}}},
      {"spec",
       {{"mlPolicy", {{"numNodes", 1}}},
        {"template",
         {{"spec",
           {{"replicatedJobs",
             {{{"name", "node"},
               {"template",
                {{"metadata", {{"labels", {{"trainer.kubeflow.org/trainjob-ancestor-step", "trainer"}}}}},
                 {"spec", {{"template", pod_template()}}}}}}}}}}}}}}};
  const json torch = kubeflow("PyTorchJob", "pytorchReplicaSpecs", "Master");
  const json torch_sets = {{{"replicas", 1}, {"path", "template.spec.pytorchReplicaSpecs.Master.template"}},
                           {{"replicas", 1}, {"path", "template.spec.pytorchReplicaSpecs.Worker.template"}}};
  const json web = serving("Deployment"), lws = leader_worker_set();
  const Row rows[] = {
      {"a Job", job(), kQueued},
      {"a Job with a generated name", job(json::object(), {{"name", nullptr}, {"generateName", "sample-job-"}}),
       kQueued},
      {"a Job that can start with fewer pods", job(json::object(), says({{"kueue.x-k8s.io/job-min-parallelism", "2"}})),
       kQueued},
      {"a Job of a priority class", job(json::object(), labelled("kueue.x-k8s.io/priority-class", "high")), kQueued},
      {"a Job with a maximum time", job(json::object(), labelled("kueue.x-k8s.io/max-exec-time-seconds", "60")),
       kQueued},
      {"an elastic Job", job(json::object(), says({{"kueue.x-k8s.io/elastic-job", "true"}})), kQueued},
      {"a Job for a provisioned node",
       job(json::object(), says({{"provreq.kueue.x-k8s.io/maxRunDurationSeconds", "600"}})), kQueued},
      {"a Job of several clusters", job({{"managedBy", "kueue.x-k8s.io/multikueue"}}), "managedBy"},
      {"a Job with claims of devices", job({{"template", pod_template(claims)}}), kQueued},
      {"a Job in one rack", job({{"template", {{"metadata", says(topology)}}}}), kQueued},
      {"a Job that prefers one rack",
       job({{"template",
             {{"metadata",
               says({{"kueue.x-k8s.io/podset-preferred-topology", "cloud.provider.com/topology-rack"}})}}}}),
       kQueued},
      {"a Job anywhere in a topology",
       job({{"template", {{"metadata", says({{"kueue.x-k8s.io/podset-unconstrained-topology", "true"}})}}}}), kQueued},
      {"the Job of a CronJob",
       job(json::object(),
           {{"ownerReferences",
             {{{"apiVersion", "batch/v1"}, {"kind", "CronJob"}, {"name", "c"}, {"uid", "u"}, {"controller", true}}}}}),
       kQueued},
      {"a JobSet", jobset(), kQueued},
      {"a JobSet in one rack", jobset(topology), kQueued},
      {"a PyTorchJob", torch, kQueued},
      {"a TFJob", kubeflow("TFJob", "tfReplicaSpecs", "PS"), kQueued},
      {"an XGBoostJob", kubeflow("XGBoostJob", "xgbReplicaSpecs", "Master"), kQueued},
      {"a PaddleJob", kubeflow("PaddleJob", "paddleReplicaSpecs", "Worker"), kQueued},
      {"a JAXJob", kubeflow("JAXJob", "jaxReplicaSpecs", "Worker"), kQueued},
      {"an MPIJob", kubeflow("MPIJob", "mpiReplicaSpecs", "Launcher", "kubeflow.org/v2beta1"), kQueued},
      {"a TrainJob",
       object(
           "trainer.kubeflow.org/v1alpha1", "TrainJob",
           {{"runtimeRef",
             {{"apiGroup", "trainer.kubeflow.org"}, {"kind", "ClusterTrainingRuntime"}, {"name", "torch-distributed"}}},
            {"trainer", {{"numNodes", 2}}}}),
       kQueued,
       {runtime}},
      {"a RayJob",
       object("ray.io/v1", "RayJob",
              {{"shutdownAfterJobFinishes", true}, {"entrypoint", "python a.py"}, {"rayClusterSpec", ray_cluster()}}),
       kQueued},
      {"a RayJob that scales",
       object("ray.io/v1", "RayJob", {{"shutdownAfterJobFinishes", true}, {"rayClusterSpec", ray_cluster(true)}},
              says({{"kueue.x-k8s.io/elastic-job", "true"}})),
       "utoscal"},
      {"a RayCluster", object("ray.io/v1", "RayCluster", ray_cluster()), kQueued},
      {"a RayService",
       object("ray.io/v1", "RayService",
              {{"serveConfigV2", "applications: []"},
               {"upgradeStrategy", {{"type", "None"}}},
               {"rayClusterConfig", ray_cluster()}}),
       kQueued},
      {"a SparkApplication, whose integration is not in that configuration",
       object("sparkoperator.k8s.io/v1beta2", "SparkApplication",
              {{"type", "Python"},
               {"mode", "cluster"},
               {"driver", {{"coreRequest", "1"}}},
               {"executor", {{"instances", 2}, {"coreRequest", "1"}}}}),
       "SparkApplication"},
      {"an AppWrapper of a PyTorchJob", app_wrapper(torch, torch_sets), kQueued},
      {"an AppWrapper of a Deployment", app_wrapper(web, {{{"replicas", 3}, {"path", "template.spec.template"}}}),
       kQueued},
      {"an AppWrapper of a LeaderWorkerSet",
       app_wrapper(lws, {{{"replicas", 2}, {"path", "template.spec.leaderWorkerTemplate.leaderTemplate"}},
                         {{"replicas", 4}, {"path", "template.spec.leaderWorkerTemplate.workerTemplate"}}}),
       kQueued},
      {"a pod", pod(), kQueued},
      {"a pod of a priority class", pod(labelled("kueue.x-k8s.io/priority-class", "high")), kQueued},
      {"a pod of a group",
       pod({{"labels", {{"kueue.x-k8s.io/pod-group-name", "g"}}},
            {"annotations", {{"kueue.x-k8s.io/pod-group-total-count", "2"}}}}),
       kQueued},
      {"a pod of a PodGroup of Kubernetes", pod(json::object(), {{"schedulingGroup", {{"podGroupName", "g"}}}}),
       kQueued},
      {"a pod of a TaskRun",
       pod({{"ownerReferences",
             {{{"apiVersion", "tekton.dev/v1"},
               {"kind", "TaskRun"},
               {"name", "t"},
               {"uid", "u"},
               {"controller", true}}}}}),
       kQueued},
      {"a pod of a Workflow",
       pod({{"ownerReferences",
             {{{"apiVersion", "argoproj.io/v1alpha1"},
               {"kind", "Workflow"},
               {"name", "w"},
               {"uid", "u"},
               {"controller", true}}}}}),
       kQueued},
      {"a Deployment", web, kQueued},
      {"a Deployment in one rack", serving("Deployment", json::object(), topology), kQueued},
      {"a StatefulSet", serving("StatefulSet", {{"serviceName", "web"}}), kQueued},
      {"a LeaderWorkerSet", lws, kQueued},
      {"a LeaderWorkerSet in one rack", leader_worker_set(topology), kQueued},
      {"a DaemonSet", serving("DaemonSet", {{"replicas", nullptr}}), "DaemonSet"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    const ShapeOutcome outcome = review_of(row.object, row.beside);
    INFO(outcome.told);
    if (std::string(row.told) == kQueued) {
      CHECK(outcome.code == kReviewAllowed);
      REQUIRE_FALSE(outcome.objects.empty());
      CHECK_MESSAGE(waits(outcome.objects.front()), outcome.objects.front().dump());
    } else {
      CHECK(outcome.told.find(row.told) != std::string::npos);
    }
  }
}

}  // namespace example_shapes_test
