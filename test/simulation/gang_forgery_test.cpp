// A hostile tenant at the barrier of a gang: whole lives, with the webhooks in force and past them.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "jobs/job_controller_users.h"
#include "test/simulation/gangs.h"
#include "test/simulation/manifests.h"
#include "test/world/world.h"

namespace gang_forgery_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

const Request kPastTheWebhook{.user = std::string(jobs::kJobControllerUsers.front())};

// A pod that says of itself that it has waited for this JobSet's present run and has passed.
json forged_pod(const json& jobset, const std::string& ns) {
  const json& epoch = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"]["annotations"]
                            [std::string(kGroupEpochAnnotation)];
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata",
           {{"name", "fake"},
            {"namespace", ns},
            {"labels",
             {{kGroupLabel, "true"},
              {kJobSetNameKey, "train"},
              {kJobSetUidLabel, jobset["metadata"]["uid"]},
              {kRestartAttemptLabel, "0"}}},
            {"annotations", {{kGroupEpochAnnotation, epoch}}}}},
          {"spec",
           {{"containers", json::array({{{"name", "main"}, {"image", "x"}}})},
            {"initContainers", json::array({{{"name", kGroupInitContainer}, {"image", "true"}}})},
            {"volumes", json::array({{{"name", kGroupVolume}, {"configMap", {{"name", "any"}}}}})}}}};
}

void let_it_pass(World& world, const std::string& ns) {
  const json status = {{"name", kGroupInitContainer},
                       {"state", {{"terminated", {{"exitCode", 0}, {"startedAt", "2027-01-15T08:00:01Z"}}}}}};
  require_done(world.patch_status(
      {&kPods, ns, "fake"}, {{"status", {{"phase", "Running"}, {"initContainerStatuses", json::array({status})}}}}));
}

}  // namespace

TEST_CASE("gang life: a pod that a user makes opens no barrier in any namespace") {
  for (const char* ns : {"default", "evil"}) {
    INFO(std::string(ns));
    World world({.namespaces = {"default", "evil"}});
    world.nodes().hold("train-workers-1-1-");
    world.nodes().hold("fake");
    require_done(world.create(gang_jobset()));
    REQUIRE(waits(world, 4));
    const json pod = forged_pod(world.get(kTrain), ns);

    const Answer answer = world.create(pod);
    CHECK_FALSE(answer.done());
    CHECK(contains(answer.message, "only the Job controller makes those"));

    // A user has switched the webhook off.
    require_done(world.api_server().create(pod, kPastTheWebhook));
    let_it_pass(world, ns);
    world.run_for(2min);
    CHECK(world.pods_running("train") == 0);
    CHECK(decided(world, kJobSetMap, "started").empty());

    require_done(world.remove({&kPods, ns, "fake"}));
    world.nodes().release("train-workers-1-1-");
    CHECK(runs(world, 5));
    INFO(world.report());
    CHECK(world.settle());
  }
}

TEST_CASE("gang life: a resume that no webhook has seen waits all the same") {
  World world({});
  require_done(world.create(gang_jobset()));
  REQUIRE(runs(world, 5));
  suspend(world, kTrain, true);
  REQUIRE(world.run_until([&] { return world.list(kPods).empty(); }, 1min));
  world.run_for(5s);
  world.nodes().hold("train-workers-1-1-");

  // JobSet's CRD was reinstalled: the field is lost, and the webhook is not asked.
  const auto epoch_of_template = [&] {
    const json train = world.get(kTrain);
    return train["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["metadata"]["annotations"]
                [std::string(kGroupEpochAnnotation)];
  };
  const json before = epoch_of_template();
  world.api_server().set_admission(nullptr);
  require_done(world.patch(kTrain, {{"spec", {{"groupSchedulingConfig", nullptr}, {"suspend", false}}}}));
  REQUIRE(epoch_of_template() == before);
  REQUIRE(waits(world, 4));
  world.run_for(30s);
  CHECK(world.pods_running("train") == 0);
  CHECK(contains(condition_text(world, kTrain, "GroupStarted"), "False WaitingForPods 4 of 5"));
  world.nodes().release("train-workers-1-1-");
  CHECK(runs(world, 5));
  INFO(world.report());
  CHECK(world.violations().empty());
}

}  // namespace gang_forgery_test
