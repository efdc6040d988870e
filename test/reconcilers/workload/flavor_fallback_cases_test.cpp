// Flavor fallback (KEP-2560): several pod sets, flavors that are deleted, and what comes in between.
#include <doctest/doctest.h>

#include "test/reconcilers/workload/fallback_cluster.h"

namespace flavor_fallback_cases_test {

using namespace muster;
using namespace muster::test;

namespace {

// A driver that runs on spot nodes only, or on any, and workers that run on any.
class PodSets : public FallbackCluster {
 public:
  PodSets(const json& rules, const char* policy, bool driver_needs_spot) : FallbackCluster(rules, policy) {
    for (const char* name : {"reservation", "spot", "on-demand"})
      put(kResourceFlavors, name, {{"metadata", {{"generation", 2}}}, {"spec", {{"nodeLabels", {{"tier", name}}}}}});
    json driver = asks()["podSets"][0], workers = driver;
    driver["name"] = "driver";
    workers["name"] = "workers";
    if (driver_needs_spot) driver["template"]["spec"]["nodeSelector"] = {{"tier", "spot"}};
    put(kWorkloads, "wl", workload({{"podSets", {driver, workers}}}));
  }
  void admit_on(const char* driver, const char* workers) {
    const auto on = [](const char* name, const char* flavor) {
      return PodSetAssignment{
          .name = name, .flavors = {{"cpu", flavor}}, .resource_usage = {{"cpu", Quantity::of(2)}}, .count = 2};
    };
    admit_pod_sets({on("driver", driver), on("workers", workers)});
  }
};

}  // namespace

TEST_CASE("flavor fallback: a flavor of several pod sets fails once for all of them") {
  PodSets cluster(timeouts(15), "DeactivateWorkload", false);
  cluster.admit_on("spot", "spot");
  cluster.pass(minutes(15));
  cluster.done();
  CHECK(cluster.evicted() == "True FlavorFallback");
  CHECK(cluster.tried() == "spot:900!TimeoutForPodsReadyExceeded");
  CHECK(cluster.fallbacks() == 1);
  CHECK(cluster.event_reasons() == Texts{"EvictedDueToFlavorFallback"});
}

TEST_CASE("flavor fallback: a flavor that one of its pod sets cannot leave does not fail alone") {
  PodSets cluster(timeouts(15), "DeactivateWorkload", true);
  cluster.admit_on("spot", "spot");
  cluster.pass(minutes(15));
  cluster.done();
  CHECK(cluster.evicted() == "True DeactivatedDueToFlavorsExhausted");
  CHECK(cluster.tried() == "spot:900!TimeoutForPodsReadyExceeded");
}

TEST_CASE("flavor fallback: pod sets on different flavors have different timeouts") {
  PodSets cluster(timeouts(15, 5), "DeactivateWorkload", true);
  cluster.admit_on("spot", "on-demand");
  CHECK(cluster.wakes_in() == minutes(5));
  cluster.pass(minutes(5));
  cluster.done();
  CHECK(cluster.evicted() == "True FlavorFallback");
  CHECK(cluster.tried() == "spot:300 on-demand:300!TimeoutForPodsReadyExceeded");
  cluster.release();
  cluster.done();
  // The driver's flavor goes on where it was.
  cluster.admit_on("spot", "reservation");
  CHECK(cluster.wakes_in() == minutes(10));
  cluster.pass(minutes(10));
  cluster.done();
  CHECK(cluster.tried() ==
        "spot:0 on-demand:300!TimeoutForPodsReadyExceeded reservation:600!TimeoutForPodsReadyExceeded");
}

TEST_CASE("flavor fallback: a ResourceFlavor that is deleted is no alternative") {
  FallbackCluster cluster(timeouts(15), "DeactivateWorkload");
  SUBCASE("one of two others: the last one is") {
    cluster.admit({{"cpu", "spot"}});
    cluster.remove(kResourceFlavors, "reservation");
    cluster.pass(minutes(15));
    cluster.done();
    CHECK(cluster.evicted() == "True FlavorFallback");
  }
  SUBCASE("both others: all have failed") {
    cluster.admit({{"cpu", "spot"}});
    for (const char* name : {"reservation", "on-demand"}) cluster.remove(kResourceFlavors, name);
    cluster.pass(minutes(15));
    cluster.done();
    CHECK(cluster.evicted() == "True DeactivatedDueToFlavorsExhausted");
  }
  SUBCASE("its own: it is left") {
    cluster.admit({{"cpu", "spot"}});
    cluster.remove(kResourceFlavors, "spot");
    cluster.pass(minutes(15));
    cluster.done();
    CHECK(cluster.evicted() == "True FlavorFallback");
    CHECK(cluster.tried() == "spot:900!TimeoutForPodsReadyExceeded");
  }
  SUBCASE("while it waits: the stopped ClusterQueue decides nothing, and the Workload goes on when it is back") {
    cluster.admit({{"cpu", "spot"}});
    cluster.pass(minutes(15));
    cluster.done();
    cluster.release();
    cluster.done();
    for (const char* name : {"reservation", "on-demand"}) cluster.remove(kResourceFlavors, name);
    cluster.done();
    CHECK(cluster.tried() == "spot:900!TimeoutForPodsReadyExceeded");
    CHECK(cluster.get(kWorkloads, "wl")["spec"].value("active", true));
    for (const char* name : {"reservation", "on-demand"}) cluster.put(kResourceFlavors, name, {});
    cluster.done();
    CHECK(cluster.tried() == "spot:900!TimeoutForPodsReadyExceeded");
    CHECK(cluster.get(kWorkloads, "wl")["spec"].value("active", true));
  }
}

TEST_CASE("flavor fallback: a user who deactivates a Workload stops the clock and an activation begins again") {
  FallbackCluster cluster(timeouts(15));
  cluster.admit({{"cpu", "spot"}});
  cluster.pass(minutes(6));
  cluster.patch(kWorkloads, "wl", {{"spec", {{"active", false}}}});
  cluster.done();
  CHECK(cluster.evicted() == "True Deactivated");
  CHECK(cluster.tried() == "spot:360");
  CHECK(cluster.fallbacks() == 0);
  cluster.release();
  cluster.pass(minutes(60));
  cluster.done();
  CHECK(cluster.tried() == "spot:360");
  cluster.patch(kWorkloads, "wl", {{"spec", {{"active", true}}}});
  cluster.done();
  CHECK(cluster.history().empty());
  cluster.admit({{"cpu", "spot"}});
  CHECK(cluster.wakes_in() == minutes(15));
}

}  // namespace flavor_fallback_cases_test
