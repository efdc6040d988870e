#include "test/faults/tenant_life.h"

#include "api/codec/json.h"
#include "kinds/serving_types.h"
#include "test/faults/life_cluster.h"
#include "test/simulation/queues.h"
#include "test/world/tenant.h"

namespace muster::test {
namespace {

using namespace std::chrono_literals;
using namespace muster::world;
using nlohmann::json;

constexpr const char* kMine = "default";
constexpr const char* kOther = "other";
constexpr int kActsPerJob = 12;

// Both teams have a LocalQueue of one ClusterQueue.
std::vector<json> queues_of_both() {
  std::vector<json> objects = queues(6);
  json other = objects.back();
  other["metadata"]["namespace"] = kOther;
  objects.push_back(std::move(other));
  return objects;
}

json job_of_the_others(int number) {
  json job = queued_job(1 + number % 2, "other" + std::to_string(number));
  job["metadata"]["namespace"] = kOther;
  return job;
}

class TenantLife {
 public:
  explicit TenantLife(const Scene& scene)
      : scene_(scene),
        cluster_(scene, queues_of_both(), settings(), {kMine, kOther}),
        tenant_(cluster_.world(), scene.seed, kMine) {}

  Outcome run() {
    for (int i = 0; i < scene_.jobs && !cluster_.broken(); ++i) {
      if (i % 4 == 0) cluster_.create(job_of_the_others(i));
      for (int act = 0; act < kActsPerJob && !cluster_.broken(); ++act) {
        acts_ += std::to_string(cluster_.world().elapsed() / 1ms) + " ms tenant: " + tenant_.act() + "\n";
        const auto number = static_cast<uint64_t>(i * kActsPerJob + act);
        cluster_.run_for(std::chrono::milliseconds(100 + scene_.seed * 37 * number % 2000));
      }
    }
    cluster_.run_for(1min);
    clean_up();
    Outcome outcome = cluster_.end();
    if (!outcome.violation.empty()) outcome.trace = acts_ + outcome.trace;
    return outcome;
  }

 private:
  static QueueSettings settings() {
    QueueSettings settings;
    settings.rules.frameworks.emplace("pod");
    return settings;
  }

  // What an administrator does when the team is gone: everything of its namespace goes, whoever holds it.
  void clean_up() {
    for (const ResourceType* type : {&kJobSets, &kJobs, &kDeployments}) {
      for (const json& object : cluster_.world().list(*type)) {
        const ObjectKey key = key_of(*type, object);
        if (key.ns != kMine) continue;
        cluster_.remove(key);
        cluster_.patch(key, {{"metadata", {{"finalizers", nullptr}}}});
      }
    }
    cluster_.run_for(1min);
    for (const json& pod : cluster_.world().list(kPods)) {
      const ObjectKey key = key_of(kPods, pod);
      if (key.ns == kMine) cluster_.world().api_server().remove(key, {.now = true});
    }
    cluster_.run_for(2min);
    for (const json& workload : cluster_.world().list(kWorkloads)) {
      if (!workload["metadata"].contains("ownerReferences")) cluster_.remove(key_of(kWorkloads, workload));
    }
  }

  const Scene scene_;
  LifeCluster cluster_;
  HostileTenant tenant_;
  std::string acts_;
};

}  // namespace

Outcome live_tenant(const Scene& scene) {
  return TenantLife(scene).run();
}

}  // namespace muster::test
