#include "test/faults/life_cluster.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/workload.h"
#include "jobs/job_kind.h"
#include "test/world/invariants/at_rest.h"

namespace muster::test {
namespace {

using namespace std::chrono_literals;
using namespace muster::world;
using nlohmann::json;

// These read all pods; what they see stays for seconds.
constexpr uint64_t kOverrunEvery = 32;
constexpr Duration kLongest = 3h;

Faults faults_of(const Scene& scene) {
  const Faults storm = Faults::storm();
  Faults faults;
  if (scene.refused_writes) faults.write_refused = storm.write_refused;
  if (scene.lost_answers) faults.answer_lost = storm.answer_lost;
  if (scene.stalled_watches) {
    faults.watch_stalls = storm.watch_stalls;
    faults.stall = storm.stall;
  }
  if (scene.accidents) {
    faults.between_accidents = storm.between_accidents;
    faults.clock_skew = storm.clock_skew;
  }
  return faults;
}

}  // namespace

LifeCluster::LifeCluster(const Scene& scene, const std::vector<json>& objects, QueueSettings settings,
                         std::vector<std::string> namespaces)
    : settings_(settings),
      world_({.seed = scene.seed,
              .replicas = scene.replicas,
              .namespaces = std::move(namespaces),
              .queues = std::move(settings),
              .faults = faults_of(scene)}) {
  for (const json& object : objects) create(object);
}

void LifeCluster::try_until_done(const std::string& what, const std::function<bool()>& request) {
  for (int tries = 0; tries < 300 && !broken(); ++tries) {
    if (request()) return;
    run_for(1s);
  }
  note("the API server takes no " + what);
}

void LifeCluster::create(const json& manifest) {
  try_until_done(std::string(string_at(manifest, {"kind"})),
                 [&] { return world_.create(manifest).outcome == reconcilers::WriteOutcome::kDone; });
}

void LifeCluster::remove(const ObjectKey& key) {
  try_until_done("deletion of " + to_text(key), [&] {
    const reconcilers::WriteOutcome outcome = world_.remove(key).outcome;
    return outcome == reconcilers::WriteOutcome::kDone || outcome == reconcilers::WriteOutcome::kNotFound;
  });
}

void LifeCluster::patch(const ObjectKey& key, const json& merge_patch) {
  try_until_done("change of " + to_text(key), [&] {
    // What a rule forbids now is refused, as to any user.
    return world_.patch(key, merge_patch).outcome != reconcilers::WriteOutcome::kFailed;
  });
}

bool LifeCluster::run_until(const std::function<bool()>& condition, Duration limit) {
  if (broken()) return false;
  const bool reached = world_.run_until([&] { return look() || condition(); }, limit);
  return reached && !broken();
}

void LifeCluster::run_for(Duration duration) {
  run_until([] { return false; }, duration);
}

void LifeCluster::interrupt_leader(size_t workloads, Duration after) {
  if (!run_until([&] { return world_.list(kWorkloads).size() >= workloads; }, 1min)) return;
  run_for(after);
  const int leader = world_.leader();
  if (leader < 0 || broken()) return;
  world_.elect(leader);
  world_.cut_off(leader, 40s);
}

Outcome LifeCluster::end() {
  world_.calm();
  if (!run_until([&] { return all_have_ended(); }, kLongest) && !broken()) note(who_has_not_ended());
  come_to_rest();
  for (const ObjectKey& job : jobs()) {
    if (!broken()) world_.remove(job);
  }
  come_to_rest();
  const bool left = !world_.list(kWorkloads).empty() || !world_.list(kPods).empty();
  if (left && !broken()) note("at rest: Workloads or pods are left of jobs that were deleted");
  return {violation_, broken() ? world_.report() : "", steps_};
}

void LifeCluster::note(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

bool LifeCluster::look() {
  ++steps_;
  if (!world_.violations().empty()) note(world_.violations().front());
  if (broken() || steps_ % kOverrunEvery != 0) return broken();
  const std::vector<std::string> found = overrun_.check();
  if (!found.empty()) note("overrun: " + found.front());
  if (std::string also = also_ ? also_() : ""; !also.empty()) note(std::move(also));
  return broken();
}

void LifeCluster::come_to_rest() {
  if (broken()) return;
  const bool quiet = world_.settle();
  look();
  if (!quiet) note("it does not come to rest");
  for (const std::string& found : find_unrest(world_.api_server(), world_.now().wall, settings_))
    note("at rest: " + found);
}

std::vector<ObjectKey> LifeCluster::jobs() const {
  std::vector<ObjectKey> keys;
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    if (kind == &jobs::plain_pod || kind->is_serving()) continue;
    for (const json& job : world_.list(kind->type)) keys.push_back(key_of(kind->type, job));
  }
  for (const json& pod : world_.list(kPods)) {
    if (!controller_of(pod)) keys.push_back(key_of(kPods, pod));
  }
  return keys;
}

// Of a job that was deactivated nothing more will come.
bool LifeCluster::has_ended(const ObjectKey& key, const std::vector<json>& workloads) const {
  const json object = world_.get(key);
  if (*key.type == kPods) {
    const std::string_view phase = string_at(object, {"status", "phase"});
    return phase == "Succeeded" || phase == "Failed";
  }
  const jobs::JobKind& kind = *jobs::find_job_kind(*key.type);
  if (kind.end(read_object(kind.type, object))) return true;
  return std::any_of(workloads.begin(), workloads.end(), [&](const json& each) {
    const WorkloadPtr workload = read_workload(each);
    return workload->meta.controller && workload->meta.controller->uid == read_meta(object).uid && !workload->active &&
           !workload->has_quota_reserved();
  });
}

bool LifeCluster::all_have_ended() const {
  const std::vector<json> workloads = world_.list(kWorkloads);
  const std::vector<ObjectKey> all = jobs();
  return std::all_of(all.begin(), all.end(), [&](const ObjectKey& key) { return has_ended(key, workloads); });
}

std::string LifeCluster::who_has_not_ended() {
  for (const std::string& found : find_unrest(world_.api_server(), world_.now().wall, settings_))
    return "at rest: " + found;
  const std::vector<json> workloads = world_.list(kWorkloads);
  for (const ObjectKey& job : jobs()) {
    if (!has_ended(job, workloads)) return to_text(job) + " does not come to its end";
  }
  return "";
}

}  // namespace muster::test
