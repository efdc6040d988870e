#include "test/world/invariants/overrun.h"

#include "api/codec/json.h"
#include "api/job.h"
#include "api/meta/constants.h"
#include "api/pods/pod_phase.h"
#include "api/workload.h"
#include "jobs/job_kind.h"
#include "test/world/object_rules.h"

namespace muster::world {
namespace {

using nlohmann::json;

constexpr Duration kOverrunGrace = std::chrono::seconds(30);

bool runs(const json& pod) {
  if (pod_has_ended(pod) || is_deleting(pod) || label(pod, kForged)) return false;
  const json& statuses = array_at(pod, {"status", "containerStatuses"});
  return !statuses.empty() && find_path(statuses[0], {"state", "running"}) != nullptr;
}

int64_t cpus_of(const json& pod) {
  int64_t cpus = 0;
  for (const json& container : array_at(pod, {"spec", "containers"})) {
    const ResourceList requests = read_resource_list(object_at(container, {"resources", "requests"}));
    if (const auto cpu = requests.find("cpu"); cpu != requests.end()) cpus += cpu->second.saturating_milli_value();
  }
  return cpus;
}

int64_t cpus_of(const Workload& workload) {
  int64_t cpus = 0;
  for (const PodSetAssignment& pod_set : workload.status.admission->pod_sets) {
    const auto used = pod_set.resource_usage.find("cpu");
    if (used != pod_set.resource_usage.end()) cpus += used->second.saturating_milli_value();
  }
  return cpus;
}

}  // namespace

void Overrun::note_admissions() {
  const Duration now = world_.elapsed();
  for (auto& [job, workloads] : admitted_) {
    for (auto& [uid, admitted] : workloads) {
      if (admitted.until == Duration(0)) admitted.until = now + kOverrunGrace;
    }
    std::erase_if(workloads, [&](const auto& each) { return each.second.until < now; });
  }
  for (const ObjectPtr& object : world_.api_server().list(kWorkloads)) {
    const WorkloadPtr workload = read_workload(*object);
    if (!workload->meta.controller || !workload->admitted() || !workload->status.admission) continue;
    Admitted& admitted = admitted_[workload->meta.controller->uid][workload->meta.uid];
    const bool over = workload->finished() || workload->meta.deleting;
    if (!over) admitted = {cpus_of(*workload), Duration(0)};
  }
}

std::string Overrun::root_of(const json& job) const {
  const ObjectMeta meta = read_meta(job);
  if (meta.controller && jobs::job_type_of(*meta.controller) == &kJobSets) {
    const ObjectPtr jobset = world_.api_server().get({&kJobSets, meta.ns, meta.controller->name});
    const bool exists = jobset != nullptr && read_meta(*jobset).uid == meta.controller->uid;
    const bool queued = exists && (all_managed_ || !read_meta(*jobset).label(kQueueNameLabel).empty());
    if (queued) return meta.controller->uid;
  }
  return all_managed_ || !meta.label(kQueueNameLabel).empty() ? meta.uid : "";
}

std::string Overrun::counted_root_of(const json& job) {
  const ObjectMeta meta = read_meta(job);
  const std::string root = root_of(job);
  if (!root.empty() && root != meta.uid)
    part_of_[meta.uid] = {root, {&kJobSets, meta.ns, meta.controller->name}, world_.elapsed()};
  const auto part = part_of_.find(meta.uid);
  if (part == part_of_.end() || world_.elapsed() - part->second.last_seen >= kOverrunGrace) return root;
  // Of a JobSet that is gone or in no queue any more it is a job like any that never was in a queue.
  const ObjectPtr whole = world_.api_server().get(part->second.jobset);
  const bool queued = whole != nullptr && uid_of(*whole) == part->second.uid && label(*whole, kQueueNameLabel);
  return queued || all_managed_ ? part->second.uid : root;
}

std::vector<std::string> Overrun::check() {
  note_admissions();
  std::map<std::string, std::string> root_of_job;
  for (const ObjectPtr& job : world_.api_server().list(kJobs)) {
    const std::string root = counted_root_of(*job);
    // It makes no pods any more, and those that it has can be older than the name of its queue.
    if (is_deleting(*job) && !admitted_.contains(root)) continue;
    root_of_job[read_meta(*job).uid] = root;
  }
  std::map<std::string, int64_t> used;
  for (const ObjectPtr& pod : world_.api_server().list(kPods)) {
    const auto owner = controller_of(*pod);
    if (!owner || !runs(*pod)) continue;
    const auto root = root_of_job.find(owner->uid);
    if (root != root_of_job.end() && !root->second.empty()) used[root->second] += cpus_of(*pod);
  }
  std::vector<std::string> found;
  for (const auto& [root, cpus] : used) {
    int64_t admitted = 0;
    const auto of_root = admitted_.find(root);
    if (of_root != admitted_.end())
      for (const auto& [uid, each] : of_root->second) admitted += each.cpus;
    if (cpus > admitted) {
      found.push_back("the pods of job " + root + " request " + std::to_string(cpus) + "m cpu, and " +
                      std::to_string(admitted) + "m are admitted");
    }
  }
  return found;
}

}  // namespace muster::world
