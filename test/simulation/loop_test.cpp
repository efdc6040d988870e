// What the product's own loop (engine/loop/) does in a simulated cluster, beside what every other test here
// shows of it.
#include <doctest/doctest.h>

#include <string>

#include "test/simulation/gangs.h"
#include "test/simulation/queues.h"
#include "test/world/world.h"

namespace loop_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;
using world::World;

namespace {

const PlainObject* known_namespace(World& world, const std::string& name) {
  return world.process(0).engine()->state().find<PlainObject>(kNamespaces, "", name);
}

json ns(const std::string& name) {
  return {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", name}}}};
}

}  // namespace

TEST_CASE("simulation: of a Namespace muster sees what the product's watch keeps, in a list and in an event") {
  World world({.seed = 1, .namespaces = {"default", "listed"}});
  const auto marked = [&](const char* name) {
    require_done(world.patch({&kNamespaces, "", name},
                             {{"metadata", {{"labels", {{"team", "a"}}}, {"annotations", {{"large", "text"}}}}}}));
  };
  marked("listed");
  world.process(0).kill();
  world.process(0).start();
  world.run_for(20s);
  require_done(world.create(ns("told")));
  marked("told");
  world.run_for(5s);
  for (const char* name : {"listed", "told"}) {
    INFO(std::string(name));
    const PlainObject* known = known_namespace(world, name);
    REQUIRE(known != nullptr);
    CHECK(known->meta.label("team") == "a");
    CHECK_FALSE(known->meta.uid.empty());
    CHECK(known->meta.annotations.empty());
  }
}

TEST_CASE("simulation: a watch that brings more than the inbox holds waits for room, and nothing is lost") {
  constexpr size_t kMany = 2 * engine::Inbox::kMostWaiting + 100;
  World world({.seed = 1});
  world.break_watch(0, kNamespaces, 10s);
  for (size_t i = 0; i < kMany; ++i) require_done(world.create(ns("n-" + std::to_string(i))));
  world.run_for(5s);
  CHECK(known_namespace(world, "n-0") == nullptr);
  world.run_for(30s);
  for (size_t i = 0; i < kMany; ++i) REQUIRE(known_namespace(world, "n-" + std::to_string(i)) != nullptr);
  CHECK(world.violations().empty());
}

TEST_CASE("simulation: a leader whose watch does not catch up gives the lease up to one that sees the cluster") {
  World world({.seed = 1, .replicas = 2});
  world.elect(0);
  REQUIRE(world.run_until([&] { return world.leader() == 0; }, 30s));
  for (const json& object : queues(1)) require_done(world.create(object));
  world.run_for(5s);
  world.break_watch(1, kWorkloads, 120s);
  world.elect(1);
  REQUIRE(world.run_until([&] { return world.leader() == 1; }, 30s));
  require_done(world.create(queued_job(1, "train")));
  CHECK(world.run_until([&] { return world.leader() == 0; }, engine::Candidacy::kLongestBehind + 10s));
  CHECK(world.run_until([&] { return world.pods_running("train-") == 1; }, 30s));
  // It does not stand for election before it has caught up, and then it does.
  CHECK_FALSE(world.process(1).takes_part());
  CHECK(world.run_until([&] { return world.process(1).takes_part(); }, 150s));
  INFO(world.report());
  CHECK(world.settle());
}

}  // namespace loop_test
