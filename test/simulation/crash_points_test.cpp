// muster dies at any point of an eviction and of the restart after it: no quota is lost, no Job
// is forgotten, and what belonged to a deleted Job is soon gone.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <utility>

#include "api/codec/json.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace crash_points_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr int kCpus = 3;  // of each team

class CrashPoints {
 public:
  explicit CrashPoints(uint64_t seed) : world({.seed = seed}), chance_(seed) {
    for (const json& object : two_teams(kCpus)) REQUIRE(world.create(object).done());
  }

  int pick(int count) { return static_cast<int>(chance_() % static_cast<uint64_t>(count)); }

  void submit(const std::string& team, int pods, const std::string& priority) {
    const std::string name = team + std::to_string(made_++);
    json job = queued_job(pods, name);
    job["metadata"]["labels"] = {{kQueueNameLabel, team}, {kPriorityClassLabel, priority}};
    // While no replica serves the webhooks nothing passes, and users try again.
    REQUIRE(run_until([&] { return world.create(job).done(); }, 5min));
    jobs_.push_back(name);
  }

  // From now on the n-th write of muster is its last, for one second.
  void crash_soon() { world.kill_after_write(1 + pick(12), 1s); }

  // Deletes a Job by chance, as a user does, and returns how long its Workload outlived both the Job and the
  // time without a leader: a process that was killed keeps its lease until that has run out.
  Duration remove_one() {
    const std::string name = jobs_[static_cast<size_t>(pick(static_cast<int>(jobs_.size())))];
    std::erase(jobs_, name);
    REQUIRE(world.remove(job_key(name)).done());
    last_start_ = world.elapsed();
    const bool gone = run_until([&] { return !has_workload(name); }, 5min);
    INFO(name);
    CHECK(gone);
    return world.elapsed() - last_start_;
  }

  bool all_complete(Duration limit) {
    return run_until(
        [&] {
          return std::all_of(jobs_.begin(), jobs_.end(),
                             [&](const std::string& name) { return world.condition_true(job_key(name), "Complete"); });
        },
        limit);
  }

  bool nothing_used() {
    for (const char* team : {"red", "blue"}) {
      const json queue = world.get({&kClusterQueues, "", team});
      for (const json& flavor : array_at(queue, {"status", "flavorsReservation"})) {
        for (const json& resource : array_at(flavor, {"resources"})) {
          if (string_at(resource, {"total"}) != "0") return false;
        }
      }
    }
    return true;
  }

  uint64_t crashes() { return world.process(0).starts() - 1; }

  World world;

 private:
  bool run_until(const std::function<bool()>& condition, Duration limit) {
    return world.run_until(
        [&] {
          const uint64_t starts = world.process(0).starts();
          if (std::exchange(starts_, starts) != starts || world.leader() < 0) last_start_ = world.elapsed();
          return condition();
        },
        limit);
  }

  bool has_workload(const std::string& job) const {
    for (const json& workload : world.list(kWorkloads)) {
      for (const json& owner : array_at(workload, {"metadata", "ownerReferences"})) {
        if (string_at(owner, {"name"}) == job) return true;
      }
    }
    return false;
  }

  std::mt19937_64 chance_;
  std::vector<std::string> jobs_;
  int made_ = 0;
  uint64_t starts_ = 1;
  Duration last_start_{};
};

}  // namespace

TEST_CASE("crash points: at any write of an eviction or a restart no quota is lost and no orphan stays") {
  const int points = static_cast<int>(soak_seeds(60, 1000));
  uint64_t crashes = 0;
  Duration longest{};
  for (int seed = 1; seed <= points; ++seed) {
    CrashPoints run(static_cast<uint64_t>(seed));
    for (int i = 0; i < kCpus; ++i) {
      run.submit("red", 1, "low");
      run.submit("blue", 1, "low");
    }
    run.submit("red", kCpus, "low");
    run.world.run_for(std::chrono::milliseconds(run.pick(20'000)));
    run.crash_soon();
    run.submit(run.pick(2) == 0 ? "red" : "blue", 1 + run.pick(kCpus), "high");
    run.world.run_for(std::chrono::milliseconds(run.pick(20'000)));
    run.crash_soon();
    const Duration outlived = run.remove_one();
    longest = std::max(longest, outlived);
    const bool done = run.all_complete(2h);
    INFO(run.world.report());
    CHECK(outlived <= 10s);
    CHECK(done);
    CHECK(run.world.settle());
    CHECK(run.nothing_used());
    CHECK(run.world.violations().empty());
    crashes += run.crashes();
  }
  std::printf("figure crash points: %d runs, %d crashes, no quota lost; orphans gone after %.1f s at most\n", points,
              static_cast<int>(crashes), std::chrono::duration<double>(longest).count());
  CHECK(crashes >= static_cast<uint64_t>(points));
}

}  // namespace crash_points_test
