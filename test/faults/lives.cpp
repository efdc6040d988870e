#include "test/faults/lives.h"

#include <algorithm>
#include <functional>
#include <sstream>
#include <vector>

#include "api/codec/json.h"
#include "kinds/serving_types.h"
#include "test/faults/kinds_life.h"
#include "test/faults/life_cluster.h"
#include "test/faults/release_life.h"
#include "test/faults/tenant_life.h"
#include "test/scheduler/quota_history.h"
#include "test/simulation/flavors/world.h"
#include "test/simulation/queues.h"

namespace muster::test {
namespace {

using namespace std::chrono_literals;

constexpr int kQuotaSteps = 40;

constexpr std::string_view kNames[] = {"quota", "teams",  "notReady", "gangs", "flavors",
                                       "kinds", "futile", "release",  "tenant"};

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

// Of 3 cpus each; blue can borrow one. With an odd seed both protect for 120 s, with an even one leaders lose their
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
  LifeCluster cluster(scene, objects);
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
  LifeCluster cluster(scene, queues(3), settings);
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
  LifeCluster cluster(scene, {});
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
  LifeCluster cluster(scene, three_flavors(rules_of({{"reservation", 2}, {"spot", 3}, {"on-demand", 0}}), policy));
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

// Indexed Jobs need completions.
json refused_jobset() {
  json job = queued_job(1, "refused")["spec"];
  job.erase("completions");
  job["completionMode"] = "Indexed";
  const json workers = {{"name", "w"}, {"replicas", 400}, {"template", {{"spec", std::move(job)}}}};
  return {{"apiVersion", kJobSets.api_version},
          {"kind", kJobSets.kind},
          {"metadata", {{"name", "refused"}, {"namespace", "default"}}},
          {"spec", {{"replicatedJobs", json::array({workers})}}}};
}

json group_of_one(int replicas) {
  json pod = queued_job(1, "excess")["spec"]["template"];
  pod["metadata"]["labels"] = {{kQueueNameLabel, "team"}, {kPodGroupName, "one"}};
  pod["metadata"]["annotations"] = {{kPodGroupTotalCount, "1"}, {kRunSeconds, "100000"}};
  return {{"apiVersion", kDeployments.api_version},
          {"kind", kDeployments.kind},
          {"metadata", {{"name", "excess"}, {"namespace", "default"}}},
          {"spec", {{"replicas", replicas}, {"template", std::move(pod)}}}};
}

// Others go on beside them, and it is quiet as soon as they are gone.
Outcome live_futile(const Scene& scene) {
  QueueSettings settings;
  settings.rules.frameworks.emplace("pod");
  LifeCluster cluster(scene, queues(3), settings);
  cluster.create(refused_jobset());
  cluster.create(group_of_one(10));
  for (int i = 0; i < scene.jobs / 3 && !cluster.broken(); ++i) {
    cluster.create(queued_job(1 + i % 2, "job" + std::to_string(i)));
    cluster.run_for(std::chrono::seconds(10 + scene.seed * 7 % 40));
  }
  cluster.run_for(1min);
  cluster.remove({&kJobSets, "default", "refused"});
  cluster.remove({&kDeployments, "default", "excess"});
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
    case Life::kKinds:
      return live_kinds(scene);
    case Life::kFutile:
      return live_futile(scene);
    case Life::kRelease:
      return live_release(scene);
    case Life::kTenant:
      return live_tenant(scene);
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
