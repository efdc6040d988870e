#include "test/world/tenant.h"

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "kinds/serving_types.h"
#include "test/world/invariants/overrun.h"
#include "test/world/kubelet.h"

namespace muster::world {
namespace {

using nlohmann::json;
using Texts = std::vector<std::string>;

constexpr const char* kHeld = "example.com/held";

// `requests` or `limits`: the API server makes limits the requests.
json pod_template(int cpus, const char* what = "requests") {
  const json container = {
      {"name", "main"}, {"image", "registry.example/mine"}, {"resources", {{what, {{"cpu", std::to_string(cpus)}}}}}};
  return {{"metadata", {{"annotations", {{kRunSeconds, "3600"}}}}},
          {"spec", {{"restartPolicy", "Never"}, {"containers", json::array({container})}}}};
}

}  // namespace

HostileTenant::HostileTenant(World& world, uint64_t seed, std::string ns)
    : world_(world), chance_(seed, "hostile tenant"), ns_(std::move(ns)) {}

std::string HostileTenant::told(const std::string& what, const Answer& answer) const {
  return what + (answer.done() ? " -> done" : " -> " + answer.message.substr(0, 160));
}

json HostileTenant::a_pod_template(int cpus) {
  json made = pod_template(cpus, pick(4) == 0 ? "limits" : "requests");
  json& metadata = made["metadata"];
  if (pick(6) == 0) metadata["labels"][std::string(kQueueNameLabel)] = pick(3) == 0 ? "stolen" : "team";
  if (pick(6) == 0) {
    made["spec"]["terminationGracePeriodSeconds"] = 300;
    metadata["annotations"][std::string(kStopSeconds)] = pick(4) == 0 ? "-1" : "200";
  }
  return made;
}

json HostileTenant::a_job(const std::string& name) {
  const int pods = static_cast<int>(1 + pick(6));
  json job = {{"apiVersion", "batch/v1"},
              {"kind", "Job"},
              {"metadata", {{"name", name}, {"namespace", ns_}}},
              {"spec", {{"parallelism", pods}, {"completions", 1000}, {"template", a_pod_template(1 + pick(2))}}}};
  if (pick(2) == 0) {
    job["spec"]["completionMode"] = "Indexed";
    job["spec"]["completions"] = pods;
  }
  if (pick(4) != 0) job["metadata"]["labels"][std::string(kQueueNameLabel)] = pick(8) == 0 ? "stolen" : "team";
  if (pick(4) == 0) job["metadata"]["ownerReferences"] = json::array({an_owner()});
  if (pick(8) == 0) job["metadata"]["finalizers"] = {kHeld};
  if (pick(8) == 0) job["metadata"]["labels"][std::string(kPriorityClassLabel)] = "absent";
  return job;
}

json HostileTenant::a_jobset(const std::string& name) {
  json job = {
      {"name", "w"},
      {"replicas", 1 + pick(2)},
      {"template", {{"spec", {{"parallelism", 1 + pick(2)}, {"completions", 100}, {"template", a_pod_template(1)}}}}}};
  json jobset = {{"apiVersion", kJobSets.api_version},
                 {"kind", "JobSet"},
                 {"metadata", {{"name", name}, {"namespace", ns_}}},
                 {"spec", {{"replicatedJobs", json::array({job})}}}};
  if (pick(4) != 0) jobset["metadata"]["labels"][std::string(kQueueNameLabel)] = "team";
  if (pick(6) == 0) jobset["metadata"]["ownerReferences"] = json::array({an_owner()});
  return jobset;
}

// Indexed Jobs need completions.
json HostileTenant::a_refused_jobset(const std::string& name) {
  json jobset = a_jobset(name);
  json& job = jobset["spec"]["replicatedJobs"][0];
  job["replicas"] = 1000;
  job["template"]["spec"].erase("completions");
  job["template"]["spec"]["completionMode"] = "Indexed";
  return jobset;
}

// Of existing objects, or invented; of the same group and kind, or of another one.
json HostileTenant::an_owner() {
  static const std::vector<std::pair<std::string, std::string>> kKinds = {
      {"batch/v1", "Job"},          {std::string(kJobSets.api_version), "JobSet"},
      {"example.com/v1", "JobSet"}, {"example.com/v1", "Job"},
      {"batch/v1", "CronJob"},      {std::string(kWorkloads.api_version), "Workload"}};
  auto [api_version, kind] = one_of(kKinds);
  std::string name = "nobody", uid = "11111111-1111-1111-1111-111111111111";
  const auto target = a_target();
  if (target && pick(5) != 0) {
    const json object = world_.get(*target);
    name = target->name;
    if (pick(5) != 0) uid = string_at(object, {"metadata", "uid"});
    if (pick(3) != 0) api_version = target->type->api_version, kind = target->type->kind;
  }
  return {{"apiVersion", api_version}, {"kind", kind}, {"name", name}, {"uid", uid}, {"controller", pick(6) != 0}};
}

std::optional<ObjectKey> HostileTenant::a_target() {
  std::vector<ObjectKey> all;
  for (const ResourceType* type : {&kJobs, &kJobSets}) {
    for (const ObjectPtr& object : world_.api_server().list(*type)) {
      if (string_at(*object, {"metadata", "namespace"}) == ns_)
        all.push_back({type, ns_, std::string(string_at(*object, {"metadata", "name"}))});
    }
  }
  if (all.empty()) return std::nullopt;
  return one_of(all);
}

std::string HostileTenant::create() {
  std::string name = "mine" + std::to_string(made_++ % 6);
  if (pick(5) == 0) {
    // The name that a part of a JobSet has, or would have.
    name += "-w-" + std::to_string(pick(3));
    json part = a_job(name);
    part["metadata"]["labels"].update({{kReplicatedJobNameKey, "w"}, {kRestartAttemptLabel, "0"}, {kJobIndexKey, "0"}});
    part["metadata"]["ownerReferences"] = json::array({an_owner()});
    return told("create part " + to_text(part["metadata"]), world_.create(part));
  }
  if (pick(12) == 0) return told("create a JobSet whose Jobs are refused", world_.create(a_refused_jobset(name)));
  const json made = pick(3) == 0 ? a_jobset(name) : a_job(name);
  return told("create " + to_text(made["metadata"]), world_.create(made));
}

// All pods of the set claim the one place of a group.
std::string HostileTenant::create_set() {
  const std::string name = "set" + std::to_string(made_++ % 2);
  json pod = pod_template(1);
  pod["spec"]["restartPolicy"] = "Always";
  pod["metadata"]["labels"] = {{kQueueNameLabel, "team"}, {kPodGroupName, name}};
  pod["metadata"]["annotations"][std::string(kPodGroupTotalCount)] = "1";
  const json set = {{"apiVersion", kDeployments.api_version},
                    {"kind", kDeployments.kind},
                    {"metadata", {{"name", name}, {"namespace", ns_}}},
                    {"spec", {{"replicas", 1 + pick(4)}, {"template", std::move(pod)}}}};
  return told("create a set " + name + " whose pods are one group", world_.create(set));
}

std::string HostileTenant::forge_pod() {
  json pod = pod_template(1);
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"]["name"] = "pod" + std::to_string(made_++);
  pod["metadata"]["namespace"] = ns_;
  pod["metadata"]["labels"] = {{kForged, "true"}};
  pod["metadata"]["ownerReferences"] = json::array({an_owner()});
  const json config_map = {{"apiVersion", "v1"},
                           {"kind", "ConfigMap"},
                           {"metadata", {{"name", "map" + std::to_string(made_)}, {"namespace", ns_}}},
                           {"data", {{"started", "everything"}}}};
  world_.create(config_map);
  return told("forge a pod", world_.create(pod));
}

json HostileTenant::change_of_metadata() {
  static const Texts kAnnotations = {"kueue.x-k8s.io/stopping",
                                     "kueue.x-k8s.io/elastic-job",
                                     "kueue.x-k8s.io/prebuilt-workload-name",
                                     "kueue.x-k8s.io/job-min-parallelism",
                                     "kueue.x-k8s.io/job-completions-equal-parallelism",
                                     "kueue.x-k8s.io/workload",
                                     "kueue.x-k8s.io/admission-gated-by",
                                     "muster.batch/group-scheduling-timeout-seconds",
                                     "muster.batch/anything"};
  static const Texts kLabels = {
      std::string(kQueueNameLabel),       std::string(kPriorityClassLabel),  std::string(kMaxExecTimeLabel),
      std::string(kReplicatedJobNameKey), std::string(kRestartAttemptLabel), std::string(kJobIndexKey),
      std::string(kJobSetUidLabel),       std::string(kJobUidLabel),         "kueue.x-k8s.io/prebuilt-workload-name"};
  std::vector<json> values = {nullptr, "team", "1", "true", "example.com/gate", "stolen"};
  for (const ObjectPtr& workload : world_.api_server().list(kWorkloads))
    values.push_back(string_at(*workload, {"metadata", "name"}));
  switch (pick(3)) {
    case 0:
      return {{"metadata", {{"labels", {{one_of(kLabels), one_of(values)}}}}}};
    case 1:
      return {{"metadata", {{"annotations", {{one_of(kAnnotations), one_of(values)}}}}}};
    default:
      return {{"metadata", {{"ownerReferences", pick(4) == 0 ? json() : json::array({an_owner()})}}}};
  }
}

json HostileTenant::change_of_spec(const ObjectKey& target) {
  const int pods = static_cast<int>(1 + pick(50));
  if (target.type == &kJobSets && pick(3) == 0) {
    json jobs = world_.get(target)["spec"]["replicatedJobs"];
    jobs[0]["template"]["spec"]["parallelism"] = pods;
    return {{"spec", {{"replicatedJobs", jobs}}}};
  }
  switch (pick(7)) {
    case 0:
      return {{"spec", {{"parallelism", pods}}}};
    case 6:
      return {{"spec", {{"parallelism", pods}, {"completions", pods}, {"suspend", true}}}};
    case 1:
      return {{"spec", {{"parallelism", pods}, {"completions", pods}}}};
    case 2:
      return {{"spec", {{"parallelism", pods}, {"completions", pods}, {"suspend", false}}}};
    case 3:
      return {{"spec", {{"template", a_pod_template(7)}}}};
    case 4:
      return {{"spec", {{"managedBy", pick(2) == 0 ? json("example.com/mine") : json()}}}};
    default:
      return {{"spec", {{"suspend", pick(3) == 0}}}};
  }
}

json HostileTenant::change_of_status(const ObjectKey& target) {
  const json stamp = "2027-01-15T08:00:00Z";
  const auto condition = [&](const char* type) {
    return json{{"type", type}, {"status", "True"}, {"reason", "Mine"}, {"message", ""}, {"lastTransitionTime", stamp}};
  };
  if (target.type == &kJobSets) return {{"status", {{"restarts", pick(3)}}}};
  switch (pick(4)) {
    case 0:
      return {{"status", {{"startTime", nullptr}}}};
    case 1:
      return {{"status", {{"conditions", json::array({condition("Suspended")})}}}};
    case 2:
      return {{"status", {{"ready", pick(5)}}}};
    default:
      return {{"status", {{"failed", pick(5)}}}};
  }
}

std::string HostileTenant::end(const ObjectKey& target) {
  const std::string what = to_text(target);
  switch (pick(4)) {
    case 0:
      return told("orphan what belongs to " + what, world_.orphan(target));
    case 1:
      return told("delete in the foreground " + what, world_.remove(target, reconcilers::Propagation::kForeground));
    case 2:
      return told("take the finalizers off " + what, world_.patch(target, {{"metadata", {{"finalizers", nullptr}}}}));
    default:
      return told("delete " + what, world_.remove(target));
  }
}

std::string HostileTenant::change(const ObjectKey& target) {
  const std::string what = to_text(target) + " ";
  json patch;
  switch (pick(8)) {
    case 0:
      return end(target);
    case 1:
      patch = change_of_status(target);
      return told("patch status of " + what + to_text(patch), world_.patch_status(target, patch));
    case 2:
    case 3:
    case 4:
      patch = change_of_metadata();
      break;
    case 5:
      patch = change_of_metadata();
      patch.merge_patch(change_of_spec(target));
      break;
    default:
      patch = change_of_spec(target);
  }
  return told("patch " + what + to_text(patch), world_.patch(target, patch));
}

std::string HostileTenant::act() {
  const auto target = a_target();
  if (!target || pick(5) == 0) return create();
  if (pick(12) == 0) return forge_pod();
  if (pick(20) == 0) return create_set();
  return change(*target);
}

}  // namespace muster::world
