#include "test/faults/lives.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <vector>

#include "api/codec/json.h"
#include "simulation/invariants/at_rest.h"
#include "simulation/invariants/overrun.h"
#include "simulation/world.h"
#include "test/scheduler/quota_history.h"
#include "test/simulation/flavor_world.h"
#include "test/simulation/queues.h"

namespace muster::test {
namespace {

using namespace std::chrono_literals;

constexpr int kQuotaSteps = 40;
// Overrun reads all pods; what it sees stays for seconds.
constexpr uint64_t kOverrunEvery = 32;
constexpr Duration kLongest = 3h;

constexpr std::string_view kNames[] = {"quota", "teams", "notReady", "gangs", "flavors"};

Faults faults_of(const Scene& scene) {
  const Faults storm = Faults::storm();
  Faults faults;
  if (scene.refused_writes) faults.write_refused = storm.write_refused;
  if (scene.lost_answers) faults.answer_lost = storm.answer_lost;
  if (scene.stalled_watches) {
    faults.watch_stalls = storm.watch_stalls;
    faults.stall = storm.stall;
  }
  if (scene.accidents) faults.between_accidents = storm.between_accidents;
  return faults;
}

// A cluster, and the first thing that was wrong in it.
class Cluster {
 public:
  Cluster(const Scene& scene, const std::vector<json>& objects, QueueSettings settings = {})
      : settings_(settings),
        world_({.seed = scene.seed,
                .replicas = scene.replicas,
                .queues = std::move(settings),
                .faults = faults_of(scene)}) {
    for (const json& object : objects) create(object);
  }

  World& world() { return world_; }
  bool broken() const { return !violation_.empty(); }

  // While no replica serves the webhooks nothing passes, and users try again.
  void create(const json& manifest) {
    for (int tries = 0; tries < 300 && !broken(); ++tries) {
      if (world_.create(manifest).outcome == WriteOutcome::kDone) return;
      run_for(1s);
    }
    note("the API server takes no " + std::string(string_at(manifest, {"kind"})));
  }
  // False when something broke, or the time has passed first.
  bool run_until(const std::function<bool()>& condition, Duration limit) {
    if (broken()) return false;
    const bool reached = world_.run_until([&] { return look() || condition(); }, limit);
    return reached && !broken();
  }
  void run_for(Duration duration) {
    run_until([] { return false; }, duration);
  }
  // The leader's connection breaks this long after a Workload was made, often before the admission has arrived, and for
  // longer than its lease lasts. It leads again afterwards.
  void interrupt_leader(size_t workloads, Duration after) {
    if (!run_until([&] { return world_.list(kWorkloads).size() >= workloads; }, 1min)) return;
    run_for(after);
    const int leader = world_.leader();
    if (leader < 0 || broken()) return;
    world_.elect(leader);
    world_.cut_off(leader, 40s);
  }
  // No more faults; every Job comes to its end and leaves nothing behind.
  Outcome end() {
    world_.calm();
    if (!run_until([&] { return ended() == jobs(); }, kLongest) && !broken()) note(who_has_not_ended());
    come_to_rest();
    for (const json& job : world_.list(kJobs)) {
      if (!broken()) world_.remove(key_of(kJobs, job));
    }
    come_to_rest();
    const bool left = !world_.list(kWorkloads).empty() || !world_.list(kPods).empty();
    if (left && !broken()) note("at rest: Workloads or pods are left of Jobs that were deleted");
    return {violation_, broken() ? world_.report() : "", steps_};
  }

 private:
  void note(std::string what) {
    if (violation_.empty()) violation_ = std::move(what);
  }
  bool look() {
    ++steps_;
    if (!world_.violations().empty()) note(world_.violations().front());
    if (!broken() && steps_ % kOverrunEvery == 0) {
      const std::vector<std::string> found = overrun_.check();
      if (!found.empty()) note("overrun: " + found.front());
    }
    return broken();
  }
  void come_to_rest() {
    if (broken()) return;
    const bool quiet = world_.settle();
    look();
    if (!quiet) note("it does not come to rest");
    for (const std::string& found : find_unrest(world_.api_server(), world_.now().wall, settings_))
      note("at rest: " + found);
  }
  int jobs() const { return static_cast<int>(world_.list(kJobs).size()); }
  // Of a Job that was deactivated nothing more will come.
  bool has_ended(const json& job, const std::vector<json>& workloads) const {
    const Conditions conditions = read_conditions(array_at(job, {"status", "conditions"}));
    if (condition_is_true(conditions, "Complete") || condition_is_true(conditions, "Failed")) return true;
    return std::any_of(workloads.begin(), workloads.end(), [&](const json& each) {
      const WorkloadPtr workload = read_workload(each);
      return workload->meta.controller && workload->meta.controller->uid == read_meta(job).uid && !workload->active &&
             !workload->has_quota_reserved();
    });
  }
  int ended() const {
    const std::vector<json> workloads = world_.list(kWorkloads), all = world_.list(kJobs);
    return static_cast<int>(
        std::count_if(all.begin(), all.end(), [&](const json& job) { return has_ended(job, workloads); }));
  }
  std::string who_has_not_ended() {
    for (const std::string& found : find_unrest(world_.api_server(), world_.now().wall, settings_))
      return "at rest: " + found;
    const std::vector<json> workloads = world_.list(kWorkloads);
    for (const json& job : world_.list(kJobs)) {
      if (!has_ended(job, workloads)) return "Job " + read_meta(job).name + " does not come to its end";
    }
    return "";
  }

  const QueueSettings settings_;
  World world_;
  Overrun overrun_{world_, false};
  std::string violation_;
  uint64_t steps_ = 0;
};

json with_labels(json job, const char* team, const char* priority) {
  job["metadata"]["labels"] = {{kQueueNameLabel, team}, {kPriorityClassLabel, priority}};
  return job;
}

Outcome live_quota(const Scene& scene) {
  const QuotaSteps steps = shrink_quota_steps(random_quota_steps(scene.seed, kQuotaSteps));
  const auto found = run_quota_steps(steps);
  if (!found) return {.steps = steps.size()};
  Outcome outcome{.violation = "quota model: " + found->what, .trace = "", .steps = found->step + 1};
  for (const QuotaStep& step : steps) outcome.trace += "  " + step.text() + "\n";
  return outcome;
}

// Of 3 cpus each; blue may borrow one. With an odd seed both protect for 120 s, with an even one leaders lose their
// connection while an admission is on its way.
Outcome live_teams(const Scene& scene) {
  std::vector<json> objects = two_teams(3);
  for (json& object : objects) {
    if (object["kind"] != kClusterQueues.kind) continue;
    if (object["metadata"]["name"] == "blue")
      object["spec"]["resourceGroups"][0]["flavors"][0]["resources"][0]["borrowingLimit"] = "1";
    if (scene.seed % 2 == 1)
      object["metadata"]["annotations"] = {{kPreemptionProtectionAnnotation, "120s"},
                                           {kReclaimProtectionAnnotation, "120s"}};
  }
  Cluster cluster(scene, objects);
  for (int i = 0; i < scene.jobs && !cluster.broken(); ++i) {
    const char* team = (scene.seed >> (i % 5) & 1) != 0 ? "red" : "blue";
    const char* priority = (static_cast<uint64_t>(i) + scene.seed) % 3 == 0 ? "high" : "low";
    cluster.create(with_labels(queued_job(1 + i % 3, "job" + std::to_string(i)), team, priority));
    const auto number = static_cast<uint64_t>(i);
    if (scene.seed % 2 == 0)
      cluster.interrupt_leader(number + 1, std::chrono::milliseconds((scene.seed * 7 + number * 3) % 25));
    cluster.run_for(std::chrono::seconds((scene.seed * 7 + number * number) % 40));
  }
  cluster.run_for(1min);
  return cluster.end();
}

// job0's pods never come, those of every third after a while.
Outcome live_not_ready(const Scene& scene) {
  WaitForPodsReady wait;
  wait.timeout = 1min;
  wait.requeuing.backoff_limit_count = 4;
  wait.requeuing.backoff_base_seconds = 20;
  QueueSettings settings;
  settings.wait_for_pods_ready = wait;
  Cluster cluster(scene, queues(3), settings);
  cluster.world().nodes().hold("job0-");
  for (int i = 0; i < scene.jobs / 3; ++i) {
    const std::string name = "job" + std::to_string(i);
    if (i % 3 == 1) {
      cluster.world().nodes().hold(name + "-");
      cluster.world().at(cluster.world().elapsed() + 5min,
                         [&cluster, name] { cluster.world().nodes().release(name + "-"); });
    }
    cluster.create(queued_job(1 + i % 2, name));
    cluster.run_for(std::chrono::seconds(scene.seed * 5 % 20));
  }
  cluster.run_for(6min);
  return cluster.end();
}

// The first one's second pod comes between 0 and 4 min later, or, with every third seed, never; it waits for 2 min.
Outcome live_gangs(const Scene& scene) {
  Cluster cluster(scene, {});
  cluster.world().nodes().hold("train0-1-", scene.seed % 2 == 0 ? HoldAt::kScheduling : HoldAt::kImagePull);
  if (scene.seed % 3 != 0)
    cluster.world().at(cluster.world().elapsed() + std::chrono::seconds(scene.seed * 67 % 240),
                       [&cluster] { cluster.world().nodes().release("train0-1-"); });
  for (int i = 0; i < std::max(1, scene.jobs / 6); ++i) cluster.create(gang_of(4, 120, "train" + std::to_string(i)));
  cluster.run_for(5min);
  return cluster.end();
}

// Every flavor but the last has no nodes; with an even seed spot has some after a while.
Outcome live_flavors(const Scene& scene) {
  const char* policy = scene.seed % 2 == 0 ? "RetryAllFlavors" : "DeactivateWorkload";
  Cluster cluster(scene, three_flavors(rules_of({{"reservation", 2}, {"spot", 3}, {"on-demand", 0}}), policy));
  for (const char* flavor : {"reservation", "spot"}) cluster.world().nodes().sell_out(kTier, flavor);
  if (scene.seed % 2 == 0)
    cluster.world().at(cluster.world().elapsed() + 4min,
                       [&cluster] { cluster.world().nodes().put_on_sale(kTier, "spot"); });
  for (int i = 0; i < scene.jobs / 3; ++i) {
    cluster.create(queued_job(1, "job" + std::to_string(i)));
    cluster.run_for(std::chrono::seconds(scene.seed * 11 % 30));
  }
  cluster.run_for(10min);
  return cluster.end();
}

// One change each that makes a scene smaller.
std::vector<Scene> smaller(const Scene& scene) {
  std::vector<Scene> all;
  const auto add = [&](const std::function<void(Scene&)>& change) {
    Scene less = scene;
    change(less);
    if (less.text() != scene.text()) all.push_back(less);
  };
  add([](Scene& less) { less.jobs = std::max(3, less.jobs / 2); });
  add([](Scene& less) { less.accidents = false; });
  add([](Scene& less) { less.replicas = 1; });
  add([](Scene& less) { less.stalled_watches = false; });
  add([](Scene& less) { less.lost_answers = false; });
  add([](Scene& less) { less.refused_writes = false; });
  add([](Scene& less) { less.jobs = std::max(3, less.jobs - 1); });
  return all;
}

}  // namespace

std::string_view to_text(Life life) {
  return kNames[static_cast<size_t>(life)];
}

std::string Scene::text() const {
  std::string text(to_text(life));
  text += " seed=" + std::to_string(seed) + " jobs=" + std::to_string(jobs) + " replicas=" + std::to_string(replicas);
  for (const auto& [name, on] : {std::pair("refused", refused_writes), std::pair("lost", lost_answers),
                                 std::pair("stalled", stalled_watches), std::pair("accidents", accidents)})
    text += on ? " " + std::string(name) : "";
  return text;
}

Scene Scene::read(const std::string& text) {
  Scene scene{.refused_writes = false, .lost_answers = false, .stalled_watches = false, .accidents = false};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    for (const Life life : kLives) {
      if (word == to_text(life)) scene.life = life;
    }
    const std::string value = word.substr(word.find('=') + 1);
    if (word.starts_with("seed=")) scene.seed = std::stoull(value);
    if (word.starts_with("jobs=")) scene.jobs = std::stoi(value);
    if (word.starts_with("replicas=")) scene.replicas = std::stoi(value);
    scene.refused_writes |= word == "refused";
    scene.lost_answers |= word == "lost";
    scene.stalled_watches |= word == "stalled";
    scene.accidents |= word == "accidents";
  }
  return scene;
}

Outcome live(const Scene& scene) {
  switch (scene.life) {
    case Life::kQuota:
      return live_quota(scene);
    case Life::kTeams:
      return live_teams(scene);
    case Life::kNotReady:
      return live_not_ready(scene);
    case Life::kGangs:
      return live_gangs(scene);
    case Life::kFlavors:
      return live_flavors(scene);
  }
  return {};
}

Scene shrink(Scene scene, int tries) {
  for (bool again = true; again;) {
    again = false;
    for (const Scene& less : smaller(scene)) {
      if (tries-- <= 0) return scene;
      if (live(less).violation.empty()) continue;
      scene = less;
      again = true;
      break;
    }
  }
  return scene;
}

std::string explain(const Scene& scene) {
  const Outcome outcome = live(scene);
  return outcome.violation + "\nto run it again:\n  MUSTER_SCENE='" + scene.text() + "' " +
         "build/test/faults_test -tc='lives: one chosen*'\n" + outcome.trace;
}

}  // namespace muster::test
