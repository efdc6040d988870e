// Writes that the API server carries out long after they were sent, and after whoever sent them
// has lost its lease. They find another version, or come before the next leader does: the request tells the API server
// to stop when the term of the sender ends, 5 s before the lease does.
#include <doctest/doctest.h>

#include "test/simulation/gangs.h"
#include "test/simulation/queues.h"
#include "test/support/soak.h"

namespace fencing_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;
using world::World;

namespace {

json short_job(const std::string& name, int pods) {
  json job = queued_job(pods, name);
  job["spec"]["template"]["metadata"]["annotations"] = {{world::kRunSeconds, "20"}};
  return job;
}

json queued_gang(const std::string& name) {
  json gang = gang_jobset();
  gang["metadata"]["name"] = name;
  gang["metadata"]["labels"] = {{kQueueNameLabel, "team"}};
  gang["spec"]["replicatedJobs"] = json::array({replicated("driver", 2, 1, "20")});
  return gang;
}

int finished(const World& world) {
  int count = 0;
  for (const json& workload : world.list(kWorkloads))
    count += condition_is_true(read_conditions(array_at(workload, {"status", "conditions"})), kFinishedCondition);
  return count;
}

}  // namespace

TEST_CASE("simulation: writes that arrive after their sender lost leadership do no harm") {
  for (uint64_t seed = 1; seed <= seeds(12); ++seed) {
    CAPTURE(seed);
    world::Faults faults{.write_late = 0.1, .late = 4900ms};
    World world({.seed = seed, .replicas = 2, .faults = faults});
    for (const json& object : queues(6)) require_done(world.create(object));
    for (int i = 0; i < 8; ++i) require_done(world.create(short_job("train-" + std::to_string(i), 2)));
    for (int i = 0; i < 3; ++i) require_done(world.create(queued_gang("train-g" + std::to_string(i))));
    // Leaders change, and a queue is held and let go, so that later leaders decide otherwise.
    const ObjectKey queue{&kClusterQueues, "", "cluster"};
    for (int round = 0; round < 6; ++round) {
      world.run_for(25s);
      if (world.leader() >= 0) world.cut_off(world.leader(), 20s);
      require_done(world.patch(queue, {{"spec", {{"stopPolicy", round % 2 == 0 ? "HoldAndDrain" : "None"}}}}));
    }
    world.run_until([&] { return finished(world) == 11; }, 60min);
    world.calm();
    INFO(world.report());
    CHECK(finished(world) == 11);
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

}  // namespace fencing_test
