// The life of a Workload whose admission check has a controller in muster, also when processes and writes fail.
#include <doctest/doctest.h>

#include <algorithm>

#include "api/check_controllers.h"
#include "api/codec/json.h"
#include "engine/reconcilers.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/simulation/require_done.h"
#include "test/simulation/toy_check_controller.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace check_controllers_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const ObjectKey kCheck{&kAdmissionChecks, "", "toy"};

class CheckedWorld : public World {
 public:
  explicit CheckedWorld(WorldOptions options) : World(std::move(options)) {
    require_done(create({{"apiVersion", kAdmissionChecks.api_version},
                         {"kind", kAdmissionChecks.kind},
                         {"metadata", {{"name", "toy"}}},
                         {"spec", {{"controllerName", kToyController}}}}));
    std::vector<json> objects = queues(2);
    objects[1]["spec"]["admissionChecksStrategy"] = {{"admissionChecks", json::array({{{"name", "toy"}}})}};
    for (const json& object : objects) require_done(create(object));
  }
  // Users try again while no replica serves the webhooks.
  void submit() {
    const json job = queued_job(2, "train");
    Answer answer = create(job);
    for (int tries = 0; tries < 300 && !answer.done(); ++tries) {
      run_for(1s);
      answer = create(job);
    }
    require_done(answer);
  }
  WorkloadPtr workload() const {
    const auto all = list(kWorkloads);
    return all.empty() ? nullptr : read_workload(all.front());
  }
  bool check_is(std::string_view state) const {
    const WorkloadPtr found = workload();
    return found != nullptr && !found->status.admission_checks.empty() &&
           found->status.admission_checks[0].state == state;
  }
  int64_t evictions() const {
    const WorkloadPtr found = workload();
    for (const EvictionCount& eviction : found->status.evictions)
      if (eviction.reason == kAdmissionCheckReason) return eviction.count;
    return 0;
  }
};

WorldOptions with_toy(WorldOptions options) {
  options.check_controllers = kToyControllers;
  return options;
}

}  // namespace

TEST_CASE("check controllers: the table and the list of Kueue's controllers agree") {
  const auto table = engine::check_controllers();
  for (const KueueCheckController& row : kueue_check_controllers()) {
    const bool in_table = reconcilers::find_check_controller(table, row.name) != nullptr;
    CHECK_MESSAGE(in_table == row.in_muster, row.name);
    CHECK(has_no_check_controller(row.name) == !in_table);
  }
  for (const reconcilers::CheckController* controller : table) CHECK_FALSE(has_no_check_controller(controller->name));
  CHECK_FALSE(has_no_check_controller(kToyController));
}

TEST_CASE("check controllers: a check becomes Ready, and one Retry evicts and starts the job again") {
  CheckedWorld world(with_toy({.seed = 3}));
  REQUIRE(world.run_until([&] { return world.condition_true(kCheck, "Active"); }, 10s));
  world.submit();
  REQUIRE(world.run_until([&] { return world.workload() != nullptr && world.workload()->has_quota_reserved(); }, 10s));
  const Duration reserved = world.elapsed();
  CHECK(world.check_is(kCheckPending));
  CHECK(world.pods_running("train") == 0);
  REQUIRE(world.run_until([&] { return world.check_is(kCheckReady); }, 10s));
  CHECK(world.elapsed() - reserved >= 4s);
  REQUIRE(world.run_until([&] { return world.pods_running("train") == 2; }, 5s));
  const json job = world.get(job_key());
  CHECK(string_at(job, {"spec", "template", "metadata", "annotations", "example.com/toy"}) == "ready");

  REQUIRE(world.run_until([&] { return world.workload()->evicted(); }, 10s));
  CHECK(world.evictions() == 1);
  const Duration evicted = world.elapsed();
  REQUIRE(world.run_until([&] { return world.workload()->admitted() && !world.workload()->evicted(); }, 2min));
  CHECK(world.elapsed() - evicted >= std::chrono::seconds(kToyRetrySeconds));
  REQUIRE(world.run_until([&] { return world.condition_true(job_key(), "Complete"); }, 5min));
  CHECK(world.evictions() == 1);
  CHECK_MESSAGE(world.settle(), world.report());
  CHECK_MESSAGE(world.violations().empty(), world.report());
}

TEST_CASE("check controllers: an inactive check is not answered") {
  CheckedWorld world(with_toy({.seed = 4}));
  REQUIRE(world.run_until([&] { return world.condition_true(kCheck, "Active"); }, 10s));
  world.submit();
  REQUIRE(world.run_until([&] { return world.workload() != nullptr && world.workload()->has_quota_reserved(); }, 10s));
  require_done(world.patch(kCheck, {{"metadata", {{"annotations", {{"example.com/toy", "off"}}}}}}));
  CHECK(world.run_until([&] { return !world.condition_true(kCheck, "Active"); }, 3s));
  world.run_for(1min);
  CHECK(world.check_is(kCheckPending));
  require_done(world.patch(kCheck, {{"metadata", {{"annotations", {{"example.com/toy", nullptr}}}}}}));
  CHECK(world.run_until([&] { return world.condition_true(job_key(), "Complete"); }, 5min));
  CHECK_MESSAGE(world.settle(), world.report());
}

TEST_CASE("check controllers: without the controller in the table the check stays as it is") {
  CheckedWorld world({.seed = 5});
  world.submit();
  world.run_for(2min);
  CHECK_FALSE(world.condition_true(kCheck, "Active"));
  CHECK_FALSE(world.check_is(kCheckReady));
}

TEST_CASE("check controllers: the life comes to its end in a storm of faults, with one Retry") {
  const uint64_t seeds = kSanitized ? 3 : soak_size(20, 1);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    CheckedWorld world(with_toy({.seed = seed, .replicas = 2, .faults = Faults::storm()}));
    world.submit();
    world.run_for(2min);
    world.calm();
    CHECK_MESSAGE(world.run_until([&] { return world.condition_true(job_key(), "Complete"); }, 1h), world.report());
    CHECK_MESSAGE(world.settle(), world.report());
    CHECK_MESSAGE(world.violations().empty(), world.report());
    CHECK_MESSAGE(world.evictions() >= 1, world.report());
  }
}

}  // namespace check_controllers_test
