#include "test/faults/release_life.h"

#include <map>
#include <set>

#include "api/codec/json.h"
#include "api/workload.h"
#include "test/faults/life_cluster.h"
#include "test/simulation/queues.h"
#include "test/world/kubelet.h"

namespace muster::test {
namespace {

using namespace std::chrono_literals;
using namespace muster::world;
using nlohmann::json;

constexpr const char* kHeld = "example.com/held";
constexpr Duration kLongestLeave = 3min;

// What becomes of a job after a while.
enum class Way { kHeld, kOrphaned, kLongGrace, kDeadNode, kWorkloadDeleted, kOrphanedJobSet };
constexpr uint64_t kWays = 6;

class ReleaseLife {
 public:
  explicit ReleaseLife(const Scene& scene) : scene_(scene), cluster_(scene, two_teams(3)) {
    cluster_.also_check([this] { return overstays(); });
  }

  Outcome run() {
    for (int i = 0; i < std::max(2, scene_.jobs / 2) && !cluster_.broken(); ++i) {
      const auto number = static_cast<uint64_t>(i);
      leave_behind(static_cast<Way>((scene_.seed + number) % kWays), "left" + std::to_string(i));
      if (i % 2 == 1) cluster_.create(job("high" + std::to_string(i), "high", 60));
      cluster_.run_for(std::chrono::seconds((scene_.seed * 7 + number * number) % 40));
    }
    cluster_.run_for(8min);
    for (const json& held : cluster_.world().list(kJobs)) {
      if (is_deleted(held)) cluster_.patch(key_of(kJobs, held), {{"metadata", {{"finalizers", nullptr}}}});
    }
    cluster_.run_for(1min);
    clean_up();
    return cluster_.end();
  }

 private:
  static bool is_deleted(const json& object) { return object["metadata"].contains("deletionTimestamp"); }
  static json job(const std::string& name, const char* priority, int run_seconds) {
    json made = queued_job(1 + static_cast<int>(name.back()) % 2, name);
    made["metadata"]["labels"] = {{kQueueNameLabel, "red"}, {kPriorityClassLabel, priority}};
    made["spec"]["template"]["metadata"]["annotations"] = {{kRunSeconds, std::to_string(run_seconds)}};
    return made;
  }
  static json jobset_of(const json& job) {
    const json workers = {{"name", "w"}, {"replicas", 1}, {"template", {{"spec", job["spec"]}}}};
    return {{"apiVersion", kJobSets.api_version},
            {"kind", kJobSets.kind},
            {"metadata", job["metadata"]},
            {"spec", {{"replicatedJobs", json::array({workers})}}}};
  }

  // What a person has to do: behind nodes that are gone, and behind jobs that were orphaned.
  void clean_up() {
    const auto is_orphan = [](const json& object) { return !object["metadata"].contains("ownerReferences"); };
    for (const json& job : cluster_.world().list(kJobs)) {
      if (is_orphan(job) && job["metadata"]["labels"].contains(kJobSetUidLabel)) cluster_.remove(key_of(kJobs, job));
    }
    cluster_.run_for(1min);
    for (const json& pod : cluster_.world().list(kPods)) {
      if (is_deleted(pod) || is_orphan(pod)) cluster_.world().api_server().remove(key_of(kPods, pod), {.now = true});
    }
    cluster_.run_for(2min);
    for (const json& workload : cluster_.world().list(kWorkloads)) {
      if (is_orphan(workload)) cluster_.remove(key_of(kWorkloads, workload));
    }
  }

  // A job that nothing but a finalizer holds is stopped when it is evicted, although a leader can be away for a while.
  std::string overstays() {
    for (const json& object : cluster_.world().list(kWorkloads)) {
      const WorkloadPtr workload = read_workload(object);
      const bool leaves = workload->evicted() && workload->has_quota_reserved() && !workload->finished();
      if (!leaves || !workload->meta.controller || !held_.contains(workload->meta.controller->name)) {
        leaving_since_.erase(workload->meta.uid);
        continue;
      }
      const Duration now = cluster_.world().elapsed();
      if (now - leaving_since_.try_emplace(workload->meta.uid, now).first->second > kLongestLeave)
        return "Workload " + workload->meta.name + " is evicted, and its job runs on";
    }
    return "";
  }

  void leave_behind(Way way, const std::string& name) {
    json made = job(name, "low", 400);
    json& pods = made["spec"]["template"];
    const bool is_set = way == Way::kOrphanedJobSet;
    if (way == Way::kHeld) {
      made["metadata"]["finalizers"] = {kHeld};
      held_.insert(name);
    }
    if (way == Way::kLongGrace || way == Way::kWorkloadDeleted) {
      pods["spec"]["terminationGracePeriodSeconds"] = 400;
      pods["metadata"]["annotations"][std::string(kStopSeconds)] = "200";
    }
    if (way == Way::kDeadNode) pods["metadata"]["annotations"][std::string(kStopSeconds)] = "-1";
    cluster_.create(is_set ? jobset_of(made) : made);
    cluster_.run_until([&] { return cluster_.world().pods_running(name + "-") > 0; }, 30s);
    const ObjectKey key{is_set ? &kJobSets : &kJobs, "default", name};
    if (way == Way::kOrphaned || is_set) {
      cluster_.run_until([&] { return cluster_.world().orphan(key).outcome != reconcilers::WriteOutcome::kFailed; },
                         1min);
    } else if (way == Way::kWorkloadDeleted) {
      for (const json& workload : cluster_.world().list(kWorkloads)) {
        if (string_at(workload, {"metadata", "name"}).starts_with("job-" + name + "-"))
          cluster_.remove(key_of(kWorkloads, workload));
      }
    } else {
      cluster_.remove(key);
    }
  }

  const Scene scene_;
  LifeCluster cluster_;
  std::set<std::string> held_;                     // names of Jobs
  std::map<std::string, Duration> leaving_since_;  // by the Workload's uid
};

}  // namespace

Outcome live_release(const Scene& scene) {
  return ReleaseLife(scene).run();
}

}  // namespace muster::test
