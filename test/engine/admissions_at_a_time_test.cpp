// How many admissions are being written at a time, and who is next when the API server is slow.
#include <doctest/doctest.h>

#include <algorithm>

#include "test/engine/served_engine.h"

namespace admissions_at_a_time_test {

using namespace muster;
using namespace muster::engine;
using muster::test::ServedEngine;

namespace {

using Texts = std::vector<std::string>;

EngineSettings two_at_a_time() {
  EngineSettings settings;
  settings.admissions_at_a_time = 2;
  return settings;
}

// The Workloads that are being written, in order.
Texts under_way(const ServedEngine& served) {
  Texts names;
  for (const Command& command : served.writes) {
    if (*command.write.target.type == kWorkloads) names.push_back(command.write.target.name);
  }
  return names;
}

void answer(ServedEngine& served, const std::string& workload,
            reconcilers::WriteOutcome outcome = reconcilers::WriteOutcome::kDone) {
  const auto found = std::find_if(served.writes.begin(), served.writes.end(),
                                  [&](const Command& command) { return command.write.target.name == workload; });
  REQUIRE(found != served.writes.end());
  const Command command = *found;
  served.writes.erase(found);
  served.answer(command, outcome);
  served.plan();
}

void put_three(ServedEngine& served) {
  served.put_queues("8");
  for (const char* name : {"a", "b", "c"}) served.put_workload(name, "1");
  served.plan();
}

}  // namespace

TEST_CASE("admissions at a time: who comes first when there is room goes first") {
  ServedEngine served(two_at_a_time());
  put_three(served);
  CHECK(under_way(served) == Texts{"a", "b"});
  served.plan();
  CHECK(under_way(served) == Texts{"a", "b"});
  served.put_workload("urgent", "1", {{"priority", 10}});
  served.plan();
  CHECK(under_way(served) == Texts{"a", "b"});
  answer(served, "b");
  CHECK(under_way(served) == Texts{"a", "urgent"});
  answer(served, "urgent");
  CHECK(under_way(served) == Texts{"a", "c"});
  served.settle();
  for (const char* name : {"a", "b", "c", "urgent"}) {
    CAPTURE(name);
    CHECK(served.condition_of(name, "Admitted") == "True Admitted");
  }
}

TEST_CASE("admissions at a time: quota is not held by who waits to be written") {
  ServedEngine served(two_at_a_time());
  put_three(served);
  served.put_workload("large", "6", {{"priority", 10}});
  answer(served, "a");
  CHECK(under_way(served) == Texts{"b", "large"});
}

TEST_CASE("admissions at a time: an answer makes room whatever it says") {
  ServedEngine served(two_at_a_time());
  put_three(served);
  reconcilers::WriteOutcome outcome{};
  SUBCASE("a conflict") {
    outcome = reconcilers::WriteOutcome::kConflict;
  }
  SUBCASE("no answer") {
    outcome = reconcilers::WriteOutcome::kFailed;
  }
  SUBCASE("gone") {
    outcome = reconcilers::WriteOutcome::kNotFound;
  }
  answer(served, "a", outcome);
  CHECK(under_way(served) == Texts{"b", "c"});
}

TEST_CASE("admissions at a time: other writes take no room") {
  ServedEngine served(two_at_a_time());
  served.put_queues("2", {{"preemption", {{"withinClusterQueue", "LowerPriority"}}}});
  for (const char* name : {"low-1", "low-2"}) served.put_workload(name, "1");
  served.settle();
  served.put_workload("high", "2", {{"priority", 10}});
  served.plan();
  CHECK(under_way(served) == Texts{"low-1", "low-2"});  // they are evicted
  served.put_cluster_queue("cq", "3");
  served.put_workload("small", "1", {{"priority", 20}});
  served.plan();
  CHECK(under_way(served) == Texts{"low-1", "low-2", "small"});
}

TEST_CASE("admissions at a time: what a former leader has under way counts until it is answered") {
  ServedEngine served(two_at_a_time());
  put_three(served);
  served.engine.apply(LeadershipChanged{false}, served.now());
  served.engine.apply(LeadershipChanged{true}, served.now());
  served.plan();
  CHECK(under_way(served) == Texts{"a", "b"});
  answer(served, "a");
  CHECK(under_way(served) == Texts{"b"});  // it is next, and is being written already
  answer(served, "b");
  CHECK(under_way(served) == Texts{"c"});
}

}  // namespace admissions_at_a_time_test
