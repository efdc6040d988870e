// A further capacity in the whole scheduler: test/scheduler/toy_capacity.h is all that it needs.
#include <doctest/doctest.h>

#include "test/scheduler/licensed_cluster.h"

namespace muster::test::toy_capacity_test {

TEST_CASE("toy capacity: a Workload is admitted as long as licenses are left, and releases them") {
  LicensedCluster cluster(3);
  cluster.put(cluster_queue("a", "", {{.nominal = 100}}));
  cluster.submit("one", "a", 1, 2);
  cluster.submit("two", "a", 1, 2);
  CHECK(cluster.settle() == "+one ?two:preemptNoCandidates");
  CHECK(cluster.free_licenses() == 1);
  // Smaller Workloads are admitted before it.
  cluster.submit("small", "a", 1, 1);
  cluster.submit("none", "a", 1, 0);
  CHECK(cluster.settle() == "+small +none");
  CHECK(cluster.free_licenses() == 0);
  cluster.end("small");
  cluster.end("one");
  CHECK(cluster.free_licenses() == 3);
  CHECK(cluster.settle() == "+two");
}

TEST_CASE("toy capacity: pod sets of one Workload share the licenses") {
  LicensedCluster cluster(3);
  cluster.put(cluster_queue("a", "", {{.nominal = 100}}));
  cluster.submit("both", "a", 1, 1, 0, {{.count = 2}, {.count = 2}});
  CHECK(cluster.settle() == "?both:noFit");
  CHECK(cluster.explain("both").message ==
        "couldn't assign flavors to pod set main2: more licenses requested in flavor default than the 3 of the "
        "cluster");
  cluster.submit("fits", "a", 1, 1, 0, {{.count = 2}, {.count = 1}});
  CHECK(cluster.settle() == "+fits");
  CHECK(cluster.free_licenses() == 0);
}

TEST_CASE("toy capacity: a pod set with flavors of two resource groups is counted once") {
  LicensedCluster cluster(4);
  cluster.memory = 1;
  cluster.put(resource_flavor("disks"));
  ClusterQueue queue = cluster_queue("a", "", {{.nominal = 100}});
  ResourceGroup disks = queue.resource_groups.front();
  disks.covered_resources = {"memory"};
  disks.flavors.front().name = "disks";
  disks.flavors.front().resources.front().name = "memory";
  queue.resource_groups.push_back(disks);
  cluster.put(queue);
  cluster.submit("three", "a", 1, 1, 0, {{.count = 3}});
  CHECK(cluster.settle() == "+three");
  // As decided, and as read from what was written.
  CHECK(cluster.free_licenses() == 1);
  cluster.submit("two", "a", 1, 1, 0, {{.count = 2}});
  CHECK(cluster.settle() == "?two:preemptNoCandidates");
}

TEST_CASE("toy capacity: a new replica reads the licenses in use from the admissions") {
  LicensedCluster before(2), after(2);
  for (LicensedCluster* cluster : {&before, &after}) cluster->put(cluster_queue("a", "", {{.nominal = 100}}));
  before.submit("one", "a", 1, 2);
  CHECK(before.settle() == "+one");
  after.restart_from(before);
  after.submit("two", "a", 1, 1);
  CHECK(after.settle() == "?two:preemptNoCandidates");
  CHECK(after.free_licenses() == 0);
}

TEST_CASE("toy capacity: a release wakes a pending Workload exactly when it has licenses enough") {
  LicensedCluster cluster(3);
  cluster.put(cluster_queue("a", "", {{.nominal = 100}}));
  // Another tree: licenses belong to no Cohort.
  cluster.put(cluster_queue("b", "", {{.nominal = 100}}));
  for (const char* name : {"first", "second", "third"}) cluster.submit(name, "a", 1, 1);
  cluster.submit("plain", "b", 1, 0);
  CHECK(cluster.settle() == "+first +plain +second +third");
  cluster.submit("waits", "b", 1, 2);
  CHECK(cluster.settle() == "?waits:preemptNoCandidates");
  const uint64_t turns = cluster.scheduler.turns();
  // Quota in its own ClusterQueue, and one license: not enough.
  cluster.end("plain");
  CHECK(cluster.settle() == "");
  CHECK(cluster.scheduler.turns() == turns);
  cluster.end("first");
  CHECK(cluster.settle() == "");
  CHECK(cluster.scheduler.turns() == turns);
  cluster.end("second");
  CHECK(cluster.settle() == "+waits");
}

TEST_CASE("toy capacity: a release of licenses wakes no Workload that waits for quota") {
  LicensedCluster cluster(1);
  cluster.put(cluster_queue("a", "", {{.nominal = 2}}));
  cluster.put(cluster_queue("b", "", {{.nominal = 2}}));
  cluster.submit("quota", "a", 2, 0);
  cluster.submit("license", "b", 1, 1);
  CHECK(cluster.settle() == "+quota +license");
  cluster.submit("waits", "a", 1, 0);
  CHECK(cluster.settle() == "?waits:preemptNoCandidates");
  const uint64_t turns = cluster.scheduler.turns();
  cluster.end("license");
  CHECK(cluster.settle() == "");
  CHECK(cluster.scheduler.turns() == turns);
}

TEST_CASE("toy capacity: Workloads that differ in licenses only are evaluated separately") {
  LicensedCluster cluster(1);
  cluster.put(cluster_queue("a", "", {{.nominal = 100}}));
  cluster.submit("two", "a", 1, 2);
  cluster.submit("one", "a", 1, 1);
  CHECK(cluster.settle() == "?two:noFit +one");
}

TEST_CASE("toy capacity: preemption frees quota and licenses, or does not begin") {
  LicensedCluster cluster(2);
  cluster.put(preempting("a", 10));
  cluster.submit("big", "a", 4, 0);
  cluster.submit("small", "a", 2, 1);
  cluster.submit("other", "a", 2, 1);
  CHECK(cluster.settle() == "+big +small +other");
  // Quota for it is free, licenses are not: the holders of licenses leave, and not the one without.
  cluster.submit("high", "a", 2, 2, 5);
  CHECK(cluster.settle() == "-small -other ?high:preempting");
  cluster.end("small");
  CHECK(cluster.settle() == "");
  cluster.end("other");
  CHECK(cluster.settle() == "+high");
  CHECK(cluster.free_licenses() == 0);

  // Quota and a license: the holder of the license leaves, and the holder of the quota.
  cluster.end("high");
  cluster.submit("low", "a", 2, 1, 1);
  CHECK(cluster.settle() == "+low");
  cluster.submit("both", "a", 9, 2, 5);
  CHECK(cluster.settle() == "-big -low ?both:preempting");
}

TEST_CASE("toy capacity: without victims for all that is short none is evicted") {
  struct Row {
    const char* name;
    int64_t cores, licenses;
    const char* decision;
  };
  // Quota: 8 of 10 are in use, 4 by "low". Licenses: both are in use, one of them by "low".
  const std::vector<Row> rows = {
      {"a license and quota", 4, 1, "-low ?asks:preempting"},
      {"a license beside free quota", 2, 1, "-low ?asks:preempting"},
      {"quota alone", 4, 0, "-low ?asks:preempting"},
      {"two licenses beside free quota", 2, 2, "?asks:preemptNoCandidates"},
      {"two licenses and quota", 4, 2, "?asks:preemptNoCandidates"},
      {"a license and too much quota", 7, 1, "?asks:preemptNoCandidates"},
      {"more licenses than there are", 2, 3, "?asks:noFit"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    LicensedCluster cluster(2);
    cluster.put(preempting("a", 10));
    cluster.submit("low", "a", 4, 1, 0);
    cluster.submit("equal", "a", 4, 1, 5);
    CHECK(cluster.settle() == "+equal +low");
    cluster.submit("asks", "a", row.cores, row.licenses, 5);
    CHECK(cluster.settle() == row.decision);
  }
}

TEST_CASE("toy capacity: a Workload that waits for licenses of its victims is not passed by another ClusterQueue") {
  LicensedCluster cluster(1);
  cluster.put(preempting("a", 10));
  cluster.put(cluster_queue("b", "", {{.nominal = 10}}));
  cluster.submit("low", "a", 1, 1);
  CHECK(cluster.settle() == "+low");
  cluster.submit("high", "a", 1, 1, 5);
  cluster.submit("beside", "b", 1, 1, 3);
  CHECK(cluster.settle() == "-low ?high:preempting ?beside:preemptNoCandidates");
  cluster.end("low");
  CHECK(cluster.settle() == "+high ?beside:skipped ?beside:preemptNoCandidates");
}

TEST_CASE("toy capacity: the holder of a license on another flavor is a victim") {
  LicensedCluster cluster(1);
  cluster.put(resource_flavor("small"));
  ClusterQueue queue = preempting("a", 10);
  queue.resource_groups = cpu_groups({{.flavor = "default", .nominal = 10}, {.flavor = "small", .nominal = 1}});
  cluster.put(queue);
  cluster.submit("full", "a", 10, 0, 9);
  cluster.submit("holder", "a", 1, 1);
  CHECK(cluster.settle() == "+full +holder");
  CHECK(cluster.flavor_of("holder") == "small");
  cluster.end("full");
  cluster.submit("plain", "a", 5, 0);
  CHECK(cluster.settle() == "+plain");
  cluster.submit("high", "a", 5, 1, 5);
  CHECK(cluster.settle() == "-holder ?high:preempting");
}

TEST_CASE("toy capacity: a flavor whose victims free no license comes after one whose victims free quota") {
  LicensedCluster cluster(1);
  cluster.put(resource_flavor("free"));
  ClusterQueue queue = preempting("a", 10);
  queue.resource_groups = cpu_groups({{.flavor = "default", .nominal = 10}, {.flavor = "free", .nominal = 1}});
  cluster.put(queue);
  cluster.submit("holder", "a", 5, 1, 9);
  cluster.submit("full", "a", 5, 0, 8);
  cluster.submit("low", "a", 1, 0);
  CHECK(cluster.settle() == "+holder +full +low");
  CHECK(cluster.flavor_of("low") == "free");
  cluster.end("full");
  cluster.submit("plain", "a", 1, 0);
  CHECK(cluster.settle() == "+plain");
  cluster.submit("high", "a", 1, 1, 5);
  CHECK(cluster.settle() == "-low ?high:preempting");
}

TEST_CASE("toy capacity: licenses of victims are not given to others before the victims have left") {
  LicensedCluster cluster(3);
  cluster.put(preempting("a", 10));
  for (const char* name : {"b", "c"}) cluster.put(cluster_queue(name, "", {{.nominal = 10}}));
  cluster.submit("low", "a", 10, 2);
  CHECK(cluster.settle() == "+low");
  // One license is free, one is for the preemptor once "low" has left, and the last one comes from there too.
  cluster.submit("high", "a", 10, 1, 9);
  cluster.submit("free", "b", 1, 1, 5);
  cluster.submit("deferred", "c", 1, 1, 3);
  CHECK(cluster.settle() == "-low ?high:preempting +free ?deferred:deferredFit ?deferred:preemptNoCandidates");
  CHECK(cluster.free_licenses() == 0);
  cluster.end("low");
  CHECK(cluster.settle() == "+high +deferred");
}

TEST_CASE("toy capacity: free licenses are kept within a cycle for a Workload that waits for more") {
  LicensedCluster cluster(3);
  for (const char* name : {"a", "b", "c"}) cluster.put(cluster_queue(name, "", {{.nominal = 10}}));
  cluster.submit("runs", "c", 1, 1);
  CHECK(cluster.settle() == "+runs");
  cluster.submit("waits", "a", 1, 3, 5);
  cluster.submit("next", "b", 1, 1);
  CHECK(cluster.settle() == "?waits:preemptNoCandidates ?next:skipped +next");
}

TEST_CASE("toy capacity: of two heads of one cycle the first one gets the license") {
  LicensedCluster cluster(1);
  cluster.put(cluster_queue("a", "", {{.nominal = 10}}));
  cluster.put(cluster_queue("b", "", {{.nominal = 10}}));
  cluster.submit("later", "a", 1, 1, 1);
  cluster.submit("sooner", "b", 1, 1, 2);
  CHECK(cluster.settle() == "+sooner ?later:skipped ?later:preemptNoCandidates");
  cluster.end("sooner");
  CHECK(cluster.settle() == "+later");
}

TEST_CASE("toy capacity: partial admission takes as many pods as there are licenses") {
  LicensedCluster cluster(5);
  cluster.put(cluster_queue("a", "", {{.nominal = 100}}));
  cluster.submit("whole", "a", 1, 1);
  CHECK(cluster.settle() == "+whole");
  cluster.submit("partial", "a", 1, 1, 0, {{.count = 8, .min_count = 2}});
  CHECK(cluster.settle() == "+partial");
  CHECK(cluster.admitted_count("partial") == 4);
  CHECK(cluster.free_licenses() == 0);
}

TEST_CASE("toy capacity: without a license on a flavor the next one is tried") {
  LicensedCluster cluster(1);
  cluster.put(resource_flavor("free"));
  cluster.put(cluster_queue("a", "", {{.flavor = "default", .nominal = 10}, {.flavor = "free", .nominal = 1}}));
  for (const char* name : {"one", "two"}) cluster.submit(name, "a", 1, 1);
  CHECK(cluster.settle() == "+one +two");
  CHECK(cluster.flavor_of("one") == "default");
  CHECK(cluster.flavor_of("two") == "free");
  // Both flavors are full, for two reasons: the release of either wakes it.
  for (const char* ends : {"one", "two"}) {
    cluster.submit("waits", "a", 1, 1);
    CHECK(cluster.settle() == "?waits:preemptNoCandidates");
    CHECK(cluster.explain("waits").message ==
          "couldn't assign flavors to pod set main1: insufficient licenses in flavor default, 1 more needed, "
          "insufficient unused quota for cpu in flavor free, 1 more needed");
    CHECK(cluster.explain("waits").outlook ==
          "Starts when quota is released; the preemption policy does not allow eviction of any workload for it. "
          "Starts when a license is returned.");
    cluster.end(ends);
    CHECK(cluster.settle() == "+waits");
    // As it was before.
    const std::string flavor = cluster.flavor_of("waits");
    cluster.end("waits");
    cluster.submit(ends, "a", 1, 1);
    CHECK(cluster.settle() == "+" + std::string(ends));
    CHECK(cluster.flavor_of(ends) == flavor);
  }
}

TEST_CASE("toy capacity: the condition and explain have the sentences of the capacity") {
  LicensedCluster cluster(2);
  cluster.put(cluster_queue("a", "", {{.nominal = 10}}));
  cluster.submit("one", "a", 1, 1);
  CHECK(cluster.settle() == "+one");
  cluster.submit("waits", "a", 1, 2);
  cluster.submit("never", "a", 1, 3);
  const std::vector<scheduler::Decision> decisions = cluster.scheduler.drain(at(9));
  REQUIRE(decisions.size() == 2);
  const auto& pending = std::get<scheduler::Pending>(decisions[0]);
  CHECK(pending.reason == scheduler::PendingReason::kWaitingForQuota);
  CHECK(pending.message ==
        "couldn't assign flavors to pod set main1: insufficient licenses in flavor default, 1 more needed");
  CHECK(pending.requeued == scheduler::QueuePosition::kInadmissible);
  const scheduler::SchedulerView waits = cluster.explain("waits");
  CHECK(waits.message == pending.message);
  CHECK(waits.outlook == "Starts when a license is returned.");
  REQUIRE(waits.flavors.size() == 1);
  CHECK(waits.flavors[0].verdict == "has room; insufficient licenses in flavor default, 1 more needed");
  const scheduler::SchedulerView never = cluster.explain("never");
  CHECK(never.reason == "ExceedsMaxQuota");
  CHECK(never.outlook == "Buy licenses.");
}

TEST_CASE("toy capacity: a simulation leaves no trace in it, also a nested one") {
  scheduler::QuotaIdTable names;
  scheduler::Capacity capacity(names, licenses(3));
  const scheduler::Claim one{.quota = {}, .further = {{kLicenses, 1}}};
  capacity.take(scheduler::kNoNode, one);
  {
    const scheduler::Capacity::Simulation outer(capacity);
    capacity.give_back(scheduler::kNoNode, one);
    CHECK(capacity.available(scheduler::kNoNode, kLicenses) == 3);
    {
      const scheduler::Capacity::Simulation inner(capacity);
      capacity.take(scheduler::kNoNode, one);
      capacity.take(scheduler::kNoNode, one);
      CHECK(capacity.available(scheduler::kNoNode, kLicenses) == 1);
    }
    CHECK(capacity.available(scheduler::kNoNode, kLicenses) == 3);
  }
  CHECK(capacity.available(scheduler::kNoNode, kLicenses) == 2);
}

}  // namespace muster::test::toy_capacity_test
