// Queues that stop admitting while Workloads wait: each of those gets one message, and then
// nothing is written until something happens.
#include <doctest/doctest.h>

#include <cstdio>
#include <functional>

#include "api/codec/json.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/simulation/require_done.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace write_storms_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const ObjectKey kQueue{&kClusterQueues, "", "cluster"};
const ObjectKey kTeam{&kLocalQueues, "default", "team"};

json long_job(int pods, const std::string& name) {
  json job = queued_job(pods, name);
  job["spec"]["template"]["metadata"]["annotations"] = {{"simulation.muster.batch/run-seconds", "1000000"}};
  return job;
}

// One that takes the whole quota of two cpus, and others that find none: `shapes` sizes in turn.
void fill(World& world, int waiting, int shapes) {
  for (const json& object : queues(2)) require_done(world.create(object));
  require_done(world.create(long_job(2, "first")));
  REQUIRE(world.run_until([&] { return world.pods_running("first") == 2; }, 1min));
  for (int i = 0; i < waiting; ++i) require_done(world.create(long_job(3 + i % shapes, "job" + std::to_string(i))));
  REQUIRE(world.run_until([&] { return world.writes(kWorkloads).create == waiting + 1; },
                          std::chrono::seconds(60 + waiting)));
  world.run_for(2min);
}

// A way to stop a queue, and what QuotaReserved=False then says.
struct Way {
  const char* name;
  const char* reason;
  std::function<Answer(World&)> stop;
  std::function<Answer(World&)> go_on{};
};

json flavor_named(World& world, const char* flavor) {
  json spec = world.get(kQueue)["spec"];
  spec["resourceGroups"][0]["flavors"][0]["name"] = flavor;
  return {{"spec", spec}};
}

json stop_policy(const char* policy) {
  return {{"spec", {{"stopPolicy", policy}}}};
}

json checks(const json& names) {
  json rules = json::array();
  for (const json& name : names) rules.push_back({{"name", name}});
  return {{"spec", {{"admissionChecksStrategy", {{"admissionChecks", rules}}}}}};
}

std::vector<Way> ways() {
  return {
      {"ClusterQueue Hold", "Suspended", [](World& w) { return w.patch(kQueue, stop_policy("Hold")); },
       [](World& w) { return w.patch(kQueue, stop_policy("None")); }},
      {"ClusterQueue HoldAndDrain", "Suspended", [](World& w) { return w.patch(kQueue, stop_policy("HoldAndDrain")); },
       [](World& w) { return w.patch(kQueue, stop_policy("None")); }},
      {"LocalQueue Hold", "Suspended", [](World& w) { return w.patch(kTeam, stop_policy("Hold")); },
       [](World& w) { return w.patch(kTeam, stop_policy("None")); }},
      {"LocalQueue HoldAndDrain", "Suspended", [](World& w) { return w.patch(kTeam, stop_policy("HoldAndDrain")); },
       [](World& w) { return w.patch(kTeam, stop_policy("None")); }},
      {"a flavor that does not exist", "Suspended",
       [](World& w) { return w.patch(kQueue, flavor_named(w, "missing")); },
       [](World& w) { return w.patch(kQueue, flavor_named(w, "default")); }},
      {"an AdmissionCheck that does not exist", "Suspended",
       [](World& w) { return w.patch(kQueue, checks({"missing"})); },
       [](World& w) { return w.patch(kQueue, checks(json::array())); }},
      {"an AdmissionCheck that is not active", "Suspended",
       [](World& w) {
         require_done(w.create({{"apiVersion", kAdmissionChecks.api_version},
                                {"kind", kAdmissionChecks.kind},
                                {"metadata", {{"name", "idle"}}},
                                {"spec", {{"controllerName", "example.com/check"}}}}));
         return w.patch(kQueue, checks({"idle"}));
       },
       [](World& w) { return w.patch(kQueue, checks(json::array())); }},
      {"a LocalQueue of a ClusterQueue that does not exist", "Misconfigured",
       [](World& w) {
         return w.patch(kTeam, {{"spec", {{"clusterQueue", "missing"}}}});
       },
       [](World& w) {
         return w.patch(kTeam, {{"spec", {{"clusterQueue", "cluster"}}}});
       }},
      // It is in use, so it stays for as long as `first` runs.
      {"a ClusterQueue that is being deleted", "Suspended", [](World& w) { return w.remove(kQueue); }},
      {"a ClusterQueue that is gone", "Misconfigured",
       [](World& w) {
         require_done(w.remove(job_key("first")));
         // Before its quota goes to the next one.
         return w.remove(kQueue);
       }},
      {"a LocalQueue that is gone", "Misconfigured", [](World& w) { return w.remove(kTeam); },
       [](World& w) { return w.create(queues(2)[2]); }},
  };
}

std::string word_of(const json& workload) {
  for (const json& condition : array_at(workload, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) == "QuotaReserved")
      return std::string(string_at(condition, {"status"})) + " " + std::string(string_at(condition, {"reason"}));
  }
  return "";
}

int with_word(World& world, const std::string& word) {
  int found = 0;
  for (const json& workload : world.list(kWorkloads)) found += word_of(workload) == word ? 1 : 0;
  return found;
}

}  // namespace

TEST_CASE("write storms: whatever stops a queue is told once to each Workload that waits") {
  for (const int shapes : {1, 12}) {
    for (const Way& way : ways()) {
      const std::string way_name = way.name;
      CAPTURE(way_name);
      CAPTURE(shapes);
      World world({});
      constexpr int kWaiting = 24;
      fill(world, kWaiting, shapes);
      const int before = world.writes(kWorkloads).patch_status;
      require_done(way.stop(world));
      world.run_for(1min);
      // Those that had quota get another message: drained, or that it is gone.
      // One that is deleted stops first and goes later, which are two things to tell.
      const int times = std::string(way.name) == "a ClusterQueue that is gone" ? 2 : 1;
      CHECK(world.writes(kWorkloads).patch_status - before <= times * kWaiting + 4);
      CHECK(with_word(world, std::string("False ") + way.reason) >= kWaiting);
      const int told = world.writes(kWorkloads).patch_status;
      const int all = world.writes().all();
      world.run_for(5min);
      CHECK(world.writes(kWorkloads).patch_status == told);
      CHECK(world.writes().all() == all);
      if (way.go_on) {
        require_done(way.go_on(world));
        world.run_for(1min);
        // What was drained can run again, which is reported, too.
        CHECK(world.writes(kWorkloads).patch_status - told <= kWaiting + 8);
        CHECK(with_word(world, "False WaitingForQuota") + with_word(world, "False ExceedsMaxQuota") >= kWaiting);
      }
      const std::string report = world.report();
      INFO(report);
      CHECK(world.settle());
    }
  }
}

TEST_CASE("write storms: the numbers of writes with many Workloads that wait") {
  for (const Way& way : ways()) {
    const std::string name = way.name;
    const bool asked = name == "ClusterQueue Hold" || name == "ClusterQueue HoldAndDrain" ||
                       name == "a flavor that does not exist" || name == "an AdmissionCheck that does not exist" ||
                       name == "a LocalQueue that is gone";
    if (!asked) continue;
    // 10,000 takes a minute each.
    const int waiting = soak_size(name == "ClusterQueue Hold" ? 3'000 : 1'000, 10'000);
    World world({});
    fill(world, waiting, 40);
    const int before = world.writes(kWorkloads).patch_status;
    require_done(way.stop(world));
    world.run_for(10min);
    const int writes = world.writes(kWorkloads).patch_status - before;
    std::printf("figure stops: %s: %d Workloads wait, %d status writes\n", name.c_str(), waiting, writes);
    CHECK(writes >= waiting);
    // And the message of the one that runs.
    CHECK(writes <= waiting + 3);
    CHECK(with_word(world, std::string("False ") + way.reason) >= waiting);
    const int told = world.writes().all();
    world.run_for(10min);
    CHECK(world.writes().all() == told);
  }
}

}  // namespace write_storms_test
