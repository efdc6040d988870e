#include "test/fuzz/stored_objects.h"

#include <iterator>

#include "api/meta/constants.h"

namespace muster::fuzz {
namespace {

using nlohmann::json;

constexpr const char* kStamp = "2026-11-22T10:00:00Z";

json parse(const char* text) {
  return json::parse(text);
}

json object_of(const ResourceType& type, const std::string& name, json more) {
  json object = {{"apiVersion", type.api_version}, {"kind", type.kind}};
  object.merge_patch(more);
  json& metadata = object["metadata"];
  metadata["name"] = name;
  metadata["uid"] = "uid-" + name;
  metadata["resourceVersion"] = "10";
  metadata["generation"] = 1;
  metadata["creationTimestamp"] = kStamp;
  if (type.namespaced) metadata["namespace"] = "default";
  return object;
}

json condition(const char* type, const char* status, const char* reason) {
  return {{"type", type}, {"status", status}, {"reason", reason}, {"message", "m"}, {"lastTransitionTime", kStamp}};
}

json owner(const ResourceType& type, const std::string& name) {
  return json::array({{{"apiVersion", type.api_version},
                       {"kind", type.kind},
                       {"name", name},
                       {"uid", "uid-" + name},
                       {"controller", true}}});
}

json pod_template(const std::string& config_map) {
  json made = parse(R"({
    "metadata": {"labels": {"muster.batch/group-scheduling": "true", "a": "b"},
                 "annotations": {"muster.batch/group-scheduling-epoch": "e1"}},
    "spec": {"restartPolicy": "Never", "nodeSelector": {"x": "y"}, "priorityClassName": "urgent",
             "runtimeClassName": "sandbox", "overhead": {"cpu": "10m"},
             "tolerations": [{"key": "k", "operator": "Exists"}], "schedulingGates": [{"name": "g"}],
             "resources": {"requests": {"cpu": "2"}},
             "initContainers": [{"name": "group-scheduling-init", "image": "muster:1", "command": ["/muster-wait"],
                                 "args": ["--dir=/mnt/group-scheduling", "--timeout-seconds=60"],
                                 "volumeMounts": [{"name": "group-scheduling",
                                                   "mountPath": "/mnt/group-scheduling"}]}],
             "containers": [{"name": "main", "image": "i", "env": [{"name": "A", "value": "1"}],
                             "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1"}}}]}})");
  made["spec"]["volumes"] =
      json::array({{{"name", "group-scheduling"}, {"configMap", {{"name", config_map}, {"optional", true}}}}});
  return made;
}

void add_queues(std::vector<Stored>& all) {
  const json groups = parse(R"([{"coveredResources": ["cpu", "memory"], "flavors": [{"name": "default",
    "resources": [{"name": "cpu", "nominalQuota": "4", "borrowingLimit": "2", "lendingLimit": "1"},
                  {"name": "memory", "nominalQuota": "8Gi"}]}]}])");
  json queue = {{"spec", parse(R"({"cohortName": "pool", "queueingStrategy": "StrictFIFO", "stopPolicy": "None",
    "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority",
                   "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 5}},
    "flavorFungibility": {"whenCanBorrow": "Borrow"}, "fairSharing": {"weight": "1"},
    "namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]},
    "admissionChecksStrategy": {"admissionChecks": [{"name": "budget", "onFlavors": ["default"]}]}})")}};
  queue["spec"]["resourceGroups"] = groups;
  all.push_back({&kNamespaces, object_of(kNamespaces, "default", parse(R"({"metadata": {"labels": {"team": "a"}}})"))});
  all.push_back({&kClusterQueues, object_of(kClusterQueues, "cluster", queue)});
  queue["spec"]["namespaceSelector"] = json::object();
  queue["spec"].erase("admissionChecksStrategy");
  all.push_back({&kClusterQueues, object_of(kClusterQueues, "other", queue)});
  for (const char* name : {"team", "second"}) {
    const json spec = {{"clusterQueue", name == std::string("team") ? "cluster" : "other"}};
    all.push_back({&kLocalQueues, object_of(kLocalQueues, name, {{"spec", spec}})});
  }
  json cohort = {{"spec", {{"parentName", "root"}, {"fairSharing", {{"weight", "2"}}}}}};
  cohort["spec"]["resourceGroups"] = groups;
  all.push_back({&kCohorts, object_of(kCohorts, "pool", cohort)});
  all.push_back({&kCohorts, object_of(kCohorts, "root", parse(R"({"spec": {"parentName": "above"}})"))});
  all.push_back({&kResourceFlavors, object_of(kResourceFlavors, "default", parse(R"({"spec": {
    "nodeLabels": {"t": "gpu"}, "tolerations": [{"key": "q", "operator": "Exists"}],
    "nodeTaints": [{"key": "q", "value": "1", "effect": "NoSchedule"}]}})"))});
  all.push_back({&kAdmissionChecks, object_of(kAdmissionChecks, "budget", parse(R"({"spec": {"controllerName": "x/y"},
    "status": {"conditions": [{"type": "Active", "status": "True", "reason": "A"}]}})"))});
  all.push_back({&kWorkloadPriorityClasses, object_of(kWorkloadPriorityClasses, "high", {{"value", 100}})});
  all.push_back({&kPriorityClasses, object_of(kPriorityClasses, "urgent", {{"value", 10}, {"globalDefault", true}})});
  all.push_back({&kRuntimeClasses,
                 object_of(kRuntimeClasses, "sandbox", parse(R"({"overhead": {"podFixed": {"cpu": "10m"}}})"))});
  all.push_back({&kLimitRanges, object_of(kLimitRanges, "limits", parse(R"({"spec": {"limits": [
    {"type": "Container", "min": {"cpu": "1m"}, "max": {"cpu": "64"}, "default": {"cpu": "1"},
     "defaultRequest": {"cpu": "1"}}, {"type": "Pod", "max": {"cpu": "99"}}]}})"))});
}

const json kQueued = {
    {"labels", {{kQueueNameLabel, "team"}, {kPriorityClassLabel, "high"}, {kMaxExecTimeLabel, "100"}}}};

void add_jobs(std::vector<Stored>& all) {
  for (const char* name : {"waits", "runs"}) {
    const bool runs = name == std::string("runs");
    json job = {{"metadata", kQueued},
                {"spec", {{"suspend", !runs}, {"parallelism", 2}, {"completions", 2}, {"completionMode", "Indexed"}}},
                {"status", parse(R"({"active": 1, "ready": 1, "succeeded": 1, "completedIndexes": "0,2-4",
                                     "startTime": "2026-11-22T10:00:00Z"})")}};
    job["metadata"]["annotations"] = {{kMinParallelismAnnotation, "1"}, {kGroupTimeoutAnnotation, "60"}};
    job["spec"]["template"] = pod_template(std::string(name) + ".job-group-scheduling");
    if (!runs) job["status"]["conditions"] = json::array({condition("Suspended", "True", "S")});
    all.push_back({&kJobs, object_of(kJobs, name, job)});
  }
  json jobset = {{"spec", parse(R"({"suspend": false, "groupSchedulingConfig": {"timeoutAfterSeconds": 60},
    "network": {"enableDNSHostnames": true, "subdomain": "sub"}, "ttlSecondsAfterFinished": 5,
    "successPolicy": {"operator": "Any", "targetReplicatedJobs": ["w"]},
    "failurePolicy": {"maxRestarts": 2, "restartStrategy": "BlockingRecreate", "rules": [
      {"name": "r", "action": "RestartJobSet", "onJobFailureReasons": ["x"],
       "onJobFailureMessagePatterns": ["a+"], "targetReplicatedJobs": ["w"]},
      {"name": "one", "action": "RestartJob"}]},
    "volumeClaimPolicies": [{"retentionPolicy": {"whenDeleted": "Delete"},
      "templates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"]}}]}],
    "coordinator": {"replicatedJob": "w", "jobIndex": 0, "podIndex": 0},
    "replicatedJobs": [{"name": "w", "groupName": "g", "replicas": 2, "template": {
      "metadata": {"labels": {"x": "y"}, "annotations": {"alpha.jobset.sigs.k8s.io/exclusive-topology": "z"}},
      "spec": {"parallelism": 1, "completions": 1, "completionMode": "Indexed"}}}]})")},
                 {"status", parse(R"({"restarts": 0, "replicatedJobsStatus": [{"name": "w", "ready": 1, "succeeded": 0,
                                      "failed": 0, "active": 1, "suspended": 0, "jobRestarts": [0, 1],
                                      "jobRestartsCountTowardsMax": [0, 1]}]})")}};
  for (const char* name : {"set", "gang"}) {
    jobset["metadata"] = name == std::string("set") ? kQueued : json::object();
    jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"] =
        pod_template(std::string(name) + "-group-scheduling");
    all.push_back({&kJobSets, object_of(kJobSets, name, jobset)});
  }
  json child = {{"metadata",
                 {{"labels",
                   {{kJobSetNameKey, "gang"},
                    {kJobSetUidLabel, "uid-gang"},
                    {kReplicatedJobNameKey, "w"},
                    {kRestartAttemptLabel, "0"},
                    {kJobIndexKey, "0"}}}}},
                {"spec", {{"suspend", false}, {"parallelism", 1}, {"completions", 1}, {"completionMode", "Indexed"}}},
                {"status", {{"active", 1}}}};
  child["metadata"]["ownerReferences"] = owner(kJobSets, "gang");
  child["spec"]["template"] = pod_template("gang-group-scheduling");
  all.push_back({&kJobs, object_of(kJobs, "gang-w-0", child)});
}

void add_pods(std::vector<Stored>& all, Chance& chance) {
  const std::vector<json> states = {parse(R"({"running": {"startedAt": "2026-11-22T10:00:00Z"}})"),
                                    parse(R"({"terminated": {"exitCode": 0, "startedAt": "2026-11-22T10:00:00Z"}})"),
                                    parse(R"({"terminated": {"exitCode": 1}})"),
                                    parse(R"({"waiting": {"reason": "R"}})")};
  for (const char* name : {"gang-w-0-0-a", "gang-w-0-0-b"}) {
    json pod = {{"metadata",
                 {{"labels",
                   {{kGroupLabel, "true"},
                    {kJobSetNameKey, "gang"},
                    {kJobSetUidLabel, "uid-gang"},
                    {kRestartAttemptLabel, "0"}}},
                  {"annotations",
                   {{kGroupEpochAnnotation, "e1"},
                    {kCompletionIndexAnnotation, "0"},
                    {kGroupNudgeAnnotation, "started 1 2026-11-22T10:00:00Z"}}},
                  {"ownerReferences", owner(kJobs, "gang-w-0")}}},
                {"spec", pod_template("gang-group-scheduling")["spec"]},
                {"status", {{"phase", "Pending"}}}};
    pod["status"]["initContainerStatuses"] =
        json::array({{{"name", kGroupInitContainer}, {"state", chance.of(states)}}});
    all.push_back({&kPods, object_of(kPods, name, pod)});
  }
  json map = {{"metadata", {{"labels", {{kGroupLabel, "true"}}}, {"ownerReferences", owner(kJobSets, "gang")}}},
              {"data", parse(R"({"started": "uid-gang/0/e0\n", "expired": "",
                                 "deadlines": "uid-gang/0/e1 2026-11-22T10:01:00Z\n"})")}};
  if (chance.one_in(3)) map["data"]["expired"] = "uid-gang/0/e1\n";
  all.push_back({&kConfigMaps, object_of(kConfigMaps, "gang-group-scheduling", map)});
  json service = parse(R"({"spec": {"clusterIP": "None"}})");
  service["metadata"]["labels"] = {{kJobSetNameKey, "set"}};
  all.push_back({&kServices, object_of(kServices, "sub", service)});
  const json claim = {
      {"metadata", {{"labels", {{kJobSetNameKey, "set"}}}, {"ownerReferences", owner(kJobSets, "set")}}}};
  all.push_back({&kPersistentVolumeClaims, object_of(kPersistentVolumeClaims, "data-set", claim)});
}

void add_workloads(std::vector<Stored>& all, Chance& chance) {
  for (const char* name : {"waits", "runs"}) {
    json workload = {
        {"metadata", {{"ownerReferences", owner(kJobs, name)}, {"finalizers", {"kueue.x-k8s.io/resource-in-use"}}}},
        {"spec", parse(R"({"active": true, "queueName": "team", "priority": 5,
      "priorityClassRef": {"group": "kueue.x-k8s.io", "kind": "WorkloadPriorityClass", "name": "high"},
      "maximumExecutionTimeSeconds": 100, "podSets": [{"name": "main", "count": 2, "minCount": 1}]})")}};
    workload["metadata"]["labels"] = {{kJobUidLabel, "uid-" + std::string(name)}};
    workload["spec"]["podSets"][0]["template"] = pod_template(std::string(name) + ".job-group-scheduling");
    if (name == std::string("runs")) {
      workload["status"] = parse(R"({
        "admission": {"clusterQueue": "cluster", "podSetAssignments": [{"name": "main", "flavors": {"cpu": "default"},
                      "resourceUsage": {"cpu": "2"}, "count": 2}]},
        "requeueState": {"count": 3, "requeueAt": "2026-11-22T10:05:00Z"},
        "admissionChecks": [{"name": "budget", "state": "Ready", "lastTransitionTime": "2026-11-22T10:00:00Z",
                             "podSetUpdates": [{"name": "main", "labels": {"l": "v"}}]}],
        "reclaimablePods": [{"name": "main", "count": 1}], "accumulatedPastExecutionTimeSeconds": 5})");
      workload["status"]["conditions"] =
          chance.one_in(2)
              ? json::array({condition("QuotaReserved", "True", "R"), condition("Admitted", "True", "A")})
              : json::array({condition("QuotaReserved", "True", "R"), condition("Evicted", "True", "Preempted")});
    }
    all.push_back({&kWorkloads, object_of(kWorkloads, std::string("job-") + name, workload)});
  }
}

const std::vector<json>& odd_values() {
  static const std::vector<json> values = {nullptr,
                                           true,
                                           false,
                                           0,
                                           -1,
                                           1,
                                           2147483647,
                                           -2147483648LL,
                                           9223372036854775807LL,
                                           18446744073709551615ULL,
                                           1e308,
                                           -0.5,
                                           "",
                                           "x",
                                           "true",
                                           "\n",
                                           "9999-12-31T23:59:59Z",
                                           kStamp,
                                           "0001-01-01T00:00:00Z",
                                           "2026-11-22T10:00:00.123456Z",
                                           "-5",
                                           "1e2147483647",
                                           "1Ei",
                                           "9223372036854775807",
                                           "0,1-3,7-5,-",
                                           "0-2147483647",
                                           "main",
                                           "w",
                                           "cluster",
                                           "team",
                                           "uid-gang",
                                           "uid-waits",
                                           std::string(300, 'a'),
                                           json::array(),
                                           json::object(),
                                           json::array({nullptr}),
                                           json::array({1, "a", json::object()}),
                                           json{{"a", 1}},
                                           json{{"name", "main"}},
                                           json::array({json{{"name", ""}}})};
  return values;
}

void collect(json& value, std::vector<json*>& places) {
  places.push_back(&value);
  if (!value.is_structured()) return;
  for (json& part : value) collect(part, places);
}

void change_one(json& object, Chance& chance) {
  std::vector<json*> places;
  for (auto& [key, part] : object.items()) {
    if (key != "apiVersion" && key != "kind") collect(part, places);
  }
  json& place = *chance.of(places);
  switch (chance.number(6)) {
    case 0:
      if (place.is_object() && !place.empty()) place.erase(std::next(place.begin(), chance.number(place.size())));
      return;
    case 1:
      if (place.is_array() && !place.empty()) place.push_back(json(chance.of(place)));
      return;
    case 2: {
      const json part = *chance.of(places);
      if (part.dump().size() < 3000) place = part;
      return;
    }
    default:
      place = chance.of(odd_values());
  }
}

}  // namespace

std::vector<Stored> stored_objects(Chance& chance) {
  std::vector<Stored> all;
  add_queues(all);
  add_jobs(all);
  add_pods(all, chance);
  add_workloads(all, chance);
  all.push_back({&kCustomResourceDefinitions,
                 object_of(kCustomResourceDefinitions, "jobsets.jobset.x-k8s.io", parse(R"({"spec": {"versions": [
    {"name": "v1alpha2", "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {}}}}}}]}})"))});
  return all;
}

void change(json& object, int times, Chance& chance) {
  const json before = object.value("metadata", json::object());
  for (int i = 0; i < times; ++i) change_one(object, chance);
  json& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  for (const char* key : {"name", "namespace", "resourceVersion"}) {
    if (before.contains(key)) metadata[key] = before[key];
  }
  if (before.contains("uid") && !chance.one_in(20)) metadata["uid"] = before["uid"];
  // As many as this makes the native controller make Jobs without end, as it shall.
  for (json& replicated :
       object.contains("/spec/replicatedJobs"_json_pointer) ? object["spec"]["replicatedJobs"] : object["none"]) {
    if (replicated.is_object() && replicated.contains("replicas") && replicated["replicas"].is_number() &&
        replicated["replicas"] > 1000 && chance.one_in(2))
      replicated["replicas"] = 1000;
  }
  object.erase("none");
}

}  // namespace muster::fuzz
