// What the engine counts for chargeback while real reconcilers admit, stop and finish Workloads, and leaders change.
#include "state/metrics/resource_seconds.h"

#include <doctest/doctest.h>

#include "test/engine/served_engine.h"

namespace resource_seconds_test {

using namespace muster;
using namespace muster::engine;
using muster::test::ServedEngine;
using nlohmann::json;
using std::chrono::seconds;

namespace {

// Of the only series; -1: there is none.
double charged(const ServedEngine& served) {
  const auto readings = served.engine.resource_seconds().read(served.engine.state(), served.now().monotonic);
  REQUIRE(readings.size() <= 1);
  return readings.empty() ? -1 : readings.front().value;
}

}  // namespace

TEST_CASE("engine: resource seconds begin with an admission that is written and end with the Workload") {
  ServedEngine served;
  served.put_queues("4");
  served.put_workload("a", "3");
  served.put_workload("b", "3");
  served.plan();
  served.pass(seconds(5));
  CHECK(charged(served) == -1);  // decided, and not yet written
  served.settle();
  REQUIRE(served.condition_of("a", "Admitted") == "True Admitted");
  served.pass(seconds(10));
  CHECK(charged(served) == 30);
  served.vanish(kWorkloads, "a");
  served.settle();  // b takes its place
  served.pass(seconds(10));
  CHECK(charged(served) == 60);
  served.vanish(kWorkloads, "b");
  served.vanish(kLocalQueues, "lq");
  CHECK(charged(served) == -1);
}

TEST_CASE("engine: a leader that was frozen counts until the end of its Lease") {
  ServedEngine served;
  served.put_queues("4");
  served.put_workload("a", "1");
  served.settle();
  served.pass(seconds(10));
  const MonotonicTime until = served.now().monotonic + seconds(8);
  served.pass(seconds(60));
  served.engine.apply(LeadershipChanged{false, 0, until}, served.now());
  CHECK(charged(served) == 18);
  served.pass(seconds(60));
  served.engine.apply(LeadershipChanged{true}, served.now());
  served.pass(seconds(1));
  CHECK(charged(served) == 19);
  // A Lease that was released before its end.
  served.engine.apply(LeadershipChanged{false, 0, served.now().monotonic + seconds(8)}, served.now());
  served.pass(seconds(60));
  CHECK(charged(served) == 19);
}

}  // namespace resource_seconds_test
