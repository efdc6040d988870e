#include "test/faults/kinds_life.h"

#include <algorithm>
#include <iterator>

#include "api/codec/json.h"
#include "api/pods/queued_pod.h"
#include "api/workload.h"
#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "kinds/on_hold.h"
#include "kinds/serving_types.h"
#include "test/faults/life_cluster.h"
#include "test/simulation/queues.h"
#include "test/world/operated_kinds.h"

namespace muster::test {
namespace {

using namespace std::chrono_literals;
using namespace muster::world;
using nlohmann::json;

constexpr int kCpus = 5;
// The largest job fits.
constexpr int kLeastCpus = 3;
const ObjectKey kQueue{&kClusterQueues, "", "cluster"};

json pod_template(int run_seconds) {
  const json container = {
      {"name", "main"}, {"image", "registry.example/train"}, {"resources", {{"requests", {{"cpu", "1"}}}}}};
  return {{"metadata", {{"annotations", {{kRunSeconds, std::to_string(run_seconds)}}}}},
          {"spec", {{"restartPolicy", "Never"}, {"containers", json::array({container})}}}};
}

json named(const ResourceType& type, const std::string& name, const char* priority) {
  return {{"apiVersion", type.api_version},
          {"kind", type.kind},
          {"metadata",
           {{"name", name},
            {"namespace", "default"},
            {"labels", {{kQueueNameLabel, "team"}, {kPriorityClassLabel, priority}}}}}};
}

json training_job(const TrainingJob& kind, const std::string& name, const char* priority, int workers) {
  json job = named(jobs::find_job_kind("kubeflow.org", kind.kind)->type, name, priority);
  json& roles = job["spec"][std::string(kind.replica_specs)];
  roles["Worker"] = {{"replicas", workers}, {"template", pod_template(3600)}};
  roles[std::string(kind.main_role)] = {{"replicas", 1}, {"template", pod_template(40)}};
  return job;
}

json spark_application(const std::string& name, const char* priority, int executors) {
  json job = named(jobs::find_job_kind("sparkoperator.k8s.io", "SparkApplication")->type, name, priority);
  const auto role = [](int run_seconds) {
    return json{{"coreRequest", "1"}, {"annotations", {{kRunSeconds, std::to_string(run_seconds)}}}};
  };
  job["spec"] = {{"type", "Python"}, {"mode", "cluster"}, {"driver", role(45)}, {"executor", role(3600)}};
  job["spec"]["executor"]["instances"] = executors;
  return job;
}

json ray_cluster_spec(int workers, int run_seconds) {
  json group = {{"groupName", "small"}, {"replicas", workers}, {"template", pod_template(100'000)}};
  return {{"headGroupSpec", {{"template", pod_template(run_seconds)}}}, {"workerGroupSpecs", json::array({group})}};
}

json ray_job(const std::string& name, const char* priority, int workers) {
  json job = named(jobs::find_job_kind("ray.io", "RayJob")->type, name, priority);
  job["spec"] = {{"submissionMode", "HTTPMode"},
                 {"shutdownAfterJobFinishes", true},
                 {"rayClusterSpec", ray_cluster_spec(workers, 50)}};
  return job;
}

json ray_cluster(const std::string& name, const char* priority, int workers) {
  json cluster = named(jobs::find_job_kind("ray.io", "RayCluster")->type, name, priority);
  cluster["spec"] = ray_cluster_spec(workers, 100'000);
  return cluster;
}

json ray_service(const std::string& name, const char* priority, int workers) {
  json service = named(jobs::find_job_kind("ray.io", "RayService")->type, name, priority);
  service["spec"] = {{"upgradeStrategy", {{"type", "None"}}}, {"rayClusterConfig", ray_cluster_spec(workers, 100'000)}};
  return service;
}

json training_runtime() {
  const json node = {{"name", "node"},
                     {"replicas", 1},
                     {"template",
                      {{"metadata", {{"labels", {{"trainer.kubeflow.org/trainjob-ancestor-step", "trainer"}}}}},
                       {"spec", {{"template", pod_template(30)}}}}}};
  const ResourceType& type = *find_consulted_kind("trainer.kubeflow.org", "ClusterTrainingRuntime");
  return {{"apiVersion", type.api_version},
          {"kind", type.kind},
          {"metadata", {{"name", "torch"}}},
          {"spec", {{"template", {{"spec", {{"replicatedJobs", json::array({node})}}}}}}}};
}

json train_job(const std::string& name, const char* priority, int nodes) {
  json job = named(jobs::find_job_kind("trainer.kubeflow.org", "TrainJob")->type, name, priority);
  job["spec"] = {
      {"runtimeRef", {{"apiGroup", "trainer.kubeflow.org"}, {"kind", "ClusterTrainingRuntime"}, {"name", "torch"}}},
      {"trainer", {{"numNodes", nodes}}}};
  return job;
}

json appwrapper(const std::string& name, const char* priority, int pods) {
  json wrapper = named(jobs::find_job_kind("workload.codeflare.dev", "AppWrapper")->type, name, priority);
  json components = json::array();
  for (int i = 0; i < pods; ++i) {
    json pod = pod_template(35);
    pod["apiVersion"] = kPods.api_version;
    pod["kind"] = kPods.kind;
    pod["metadata"]["name"] = name + "-" + std::to_string(i);
    components.push_back({{"template", std::move(pod)}});
  }
  wrapper["spec"] = {{"components", std::move(components)}};
  return wrapper;
}

// A Deployment or a StatefulSet.
json replicated_set(const ResourceType& type, const std::string& name, const char* priority, int replicas) {
  json set = named(type, name, priority);
  set["spec"] = {{"replicas", replicas}, {"template", pod_template(100'000)}};
  return set;
}

json leader_worker_set(const std::string& name, const char* priority, int groups) {
  json set = named(kLeaderWorkerSets, name, priority);
  set["spec"] = {{"replicas", groups},
                 {"leaderWorkerTemplate", {{"size", 2}, {"workerTemplate", pod_template(100'000)}}}};
  return set;
}

json pod_of_group(const std::string& group, int number, const char* priority, int count) {
  json pod = pod_template(30);
  pod.update(named(kPods, group + "-" + std::to_string(number), priority), true);
  if (count < 2) return pod;
  pod["metadata"]["labels"][std::string(kPodGroupName)] = group;
  pod["metadata"]["annotations"][std::string(kPodGroupTotalCount)] = std::to_string(count);
  return pod;
}

// Whether what it is a part of is gone, at any level: then the garbage collector will delete it.
bool is_left_over(const ApiServer& server, const json& object) {
  const auto owner = controller_of(object);
  if (!owner) return false;
  if (!server.exists(owner->uid)) return true;
  for (const ResourceType* type : {&kJobs, &kJobSets}) {
    for (const ObjectPtr& each : server.list(*type)) {
      if (string_at(*each, {"metadata", "uid"}) == owner->uid) return is_left_over(server, *each);
    }
  }
  return false;
}

// Pods of those that are gone have a while to end.
std::string more_than_quota(World& world, int64_t cpus) {
  std::vector<ObjectPtr> running;
  for (const ObjectPtr& object : world.api_server().list(kPods)) {
    const QueuedPodPtr pod = read_queued_pod(*object);
    if (!pod->gated() && !pod->terminated() && !pod->meta.deleting) running.push_back(object);
  }
  if (static_cast<int64_t>(running.size()) <= cpus) return "";
  std::erase_if(running, [&](const ObjectPtr& pod) { return is_left_over(world.api_server(), *pod); });
  return static_cast<int64_t>(running.size()) > cpus
             ? "quota: " + std::to_string(running.size()) + " pods of 1 cpu can run, and the quota is " +
                   std::to_string(cpus)
             : "";
}

std::vector<json> queue_with_priorities() {
  std::vector<json> objects = queues(kCpus);
  // Spark applications always request memory.
  json& group = objects[1]["spec"]["resourceGroups"][0];
  group["coveredResources"].push_back("memory");
  group["flavors"][0]["resources"].push_back({{"name", "memory"}, {"nominalQuota", "1Ti"}});
  objects[1]["spec"]["preemption"] = {{"withinClusterQueue", "LowerPriority"}};
  for (const auto& [name, value] : {std::pair("low", 10), std::pair("high", 100)}) {
    objects.push_back({{"apiVersion", kWorkloadPriorityClasses.api_version},
                       {"kind", kWorkloadPriorityClasses.kind},
                       {"metadata", {{"name", name}}},
                       {"value", value}});
  }
  objects.push_back(training_runtime());
  return objects;
}

class KindsLife {
 public:
  explicit KindsLife(const Scene& scene) : scene_(scene), cluster_(scene, queue_with_priorities(), settings()) {
    cluster_.also_check([this] { return more_than_quota(cluster_.world(), kCpus); });
  }

  Outcome run() {
    for (int i = 0; i < scene_.jobs && !cluster_.broken(); ++i) {
      create(i);
      cluster_.run_for(std::chrono::seconds(chance_.number() % 40));
      if (!sets_.empty() && chance_.happens(0.4)) change_a_set();
      if (chance_.happens(0.1)) delete_a_job();
      if (chance_.happens(0.2)) change_quota(kLeastCpus + static_cast<int>(chance_.number() % 3));
    }
    cluster_.world().calm();
    change_quota(kCpus);
    for (const int replicas : {0, 2}) {
      for (const ObjectKey& set : sets_) scale(set, replicas);
      cluster_.run_for(3min);
    }
    cluster_.note(set_that_is_forgotten());
    // What serves never ends by itself, and others wait for its quota.
    for (const ObjectKey& set : sets_) cluster_.remove(set);
    return cluster_.end();
  }

 private:
  static QueueSettings settings() {
    QueueSettings settings;
    for (const char* framework :
         {"pod", "kubeflow.org/pytorchjob", "kubeflow.org/tfjob", "kubeflow.org/xgboostjob", "kubeflow.org/paddlejob",
          "kubeflow.org/jaxjob", "kubeflow.org/mpijob", "ray.io/rayjob", "ray.io/raycluster", "ray.io/rayservice",
          "workload.codeflare.dev/appwrapper", "sparkoperator.k8s.io/sparkapplication",
          "trainer.kubeflow.org/trainjob"})
      settings.rules.frameworks.emplace(framework);
    settings.rules.frameworks.emplace(kDeploymentFramework);
    settings.rules.frameworks.emplace(kStatefulSetFramework);
    settings.rules.frameworks.emplace(kLeaderWorkerSetFramework);
    return settings;
  }

  // It has replicas, and its Workload says that it has none.
  std::string set_that_is_forgotten() {
    for (const ObjectKey& set : sets_) {
      const json object = cluster_.world().get(set);
      if (int_at(object, {"spec", "replicas"}).value_or(0) == 0) continue;
      for (const json& each : cluster_.world().list(kWorkloads)) {
        const WorkloadPtr workload = read_workload(each);
        const Condition* reserved = find_condition(workload->status.conditions, kQuotaReservedCondition);
        const bool is_of_set = workload->meta.label(kJobUidLabel) == string_at(object, {"metadata", "uid"});
        if (is_of_set && reserved != nullptr && reserved->reason == kOnHoldReason)
          return to_text(set) + " has replicas, and its Workload is on hold";
      }
    }
    return "";
  }

  void create(int i) {
    const char* priority = chance_.happens(0.3) ? "high" : "low";
    const std::string number = std::to_string(i);
    const int size = 1 + static_cast<int>(chance_.number() % 2);
    const uint64_t turn = scene_.seed + static_cast<uint64_t>(i);
    switch (turn % 11) {
      case 0:
        return add(training_job(kTrainingJobs[turn / 11 % std::size(kTrainingJobs)], "train" + number, priority, size));
      case 1:
        return add(ray_job("ray" + number, priority, size));
      case 2:
        return add_set(replicated_set(kStatefulSets, "db" + number, priority, 1 + size), kStatefulSets);
      case 3:
        return add_set(leader_worker_set("llm" + number, priority, size), kLeaderWorkerSets);
      case 4:
        return add(appwrapper("wrapped" + number, priority, size));
      case 5:
        return add_cluster(ray_cluster("cluster" + number, priority, size));
      case 6:
        return add(spark_application("spark" + number, priority, size));
      case 7:
        return add_cluster(ray_service("service" + number, priority, size));
      case 8:
        return add(train_job("trainer" + number, priority, size));
      case 9:
        return add_set(replicated_set(kDeployments, "web" + number, priority, 1 + size), kDeployments);
      default:
        for (int pod = 0; pod < size; ++pod) cluster_.create(pod_of_group("group" + number, pod, priority, size));
    }
  }
  void add(const json& job) {
    cluster_.create(job);
    jobs_.push_back(key_of(*find_type(job), job));
  }
  // It never ends: for a while, then it is deleted.
  void add_cluster(const json& cluster) {
    cluster_.create(cluster);
    const ObjectKey key = key_of(*find_type(cluster), cluster);
    cluster_.run_for(std::chrono::seconds(20 + chance_.number() % 60));
    cluster_.remove(key);
  }
  void add_set(const json& set, const ResourceType& type) {
    cluster_.create(set);
    sets_.push_back(key_of(type, set));
  }
  // Of a StatefulSet, replicas change to zero and from zero only; a LeaderWorkerSet has as many groups as one likes.
  void change_a_set() {
    const size_t chosen = chance_.number() % sets_.size();
    const ObjectKey set = sets_[chosen];
    if (chance_.happens(0.3)) {
      sets_.erase(sets_.begin() + static_cast<long>(chosen));
      return cluster_.remove(set);
    }
    const int64_t replicas = int_at(cluster_.world().get(set), {"spec", "replicas"}).value_or(0);
    const int64_t wanted = replicas > 0 && chance_.happens(0.6) ? 0 : replicas == 0 ? 2 : replicas;
    scale(set, wanted);
  }
  void scale(const ObjectKey& set, int64_t replicas) { cluster_.patch(set, {{"spec", {{"replicas", replicas}}}}); }
  // What runs keeps its quota, also above the new one.
  void change_quota(int cpus) {
    json groups = cluster_.world().get(kQueue)["spec"]["resourceGroups"];
    groups[0]["flavors"][0]["resources"][0]["nominalQuota"] = std::to_string(cpus);
    cluster_.patch(kQueue, {{"spec", {{"resourceGroups", std::move(groups)}}}});
  }
  void delete_a_job() {
    if (jobs_.empty()) return;
    cluster_.remove(jobs_.back());
    jobs_.pop_back();
  }

  const Scene& scene_;
  LifeCluster cluster_;
  Chance chance_{scene_.seed, "kinds"};
  std::vector<ObjectKey> jobs_, sets_;
};

}  // namespace

Outcome live_kinds(const Scene& scene) {
  return KindsLife(scene).run();
}

}  // namespace muster::test
