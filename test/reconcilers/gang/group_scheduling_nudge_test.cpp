// Nudges: who gets one, when again, how many at once.
#include "reconcilers/gang/group_scheduling_nudge.h"

#include "test/reconcilers/gang/group_scheduling_support.h"

namespace group_scheduling_nudge_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

std::string nudge_of(const GangCluster& cluster, const std::string& pod) {
  return cluster.get(kPods, pod)["metadata"]["annotations"].value(std::string(kGroupNudgeAnnotation), "");
}

GangCluster released(int pods) {
  GangCluster cluster;
  cluster.make_own_job(pods);
  cluster.start(cluster.make_pods());
  cluster.settle();
  return cluster;
}

}  // namespace

TEST_CASE("nudge: what is written is read back") {
  const state::Nudge nudge{"started", 3, TimePoint(std::chrono::microseconds(1'800'000'000'123'456))};
  CHECK(state::to_text(nudge) == "started 3 2027-01-15T08:00:00.123456Z");
  const auto read = state::read_nudge(state::to_text(nudge));
  REQUIRE(read.has_value());
  CHECK(read->verdict == "started");
  CHECK(read->count == 3);
  CHECK(read->time == nudge.time);
  for (const char* text : {"", "started", "started 3", "started 3 yesterday"}) {
    const std::string shown = text;
    INFO(shown);
    CHECK_FALSE(state::read_nudge(text).has_value());
  }
}

TEST_CASE("nudge: the interval grows from 2 s to 30 s") {
  const int expected[] = {2, 4, 8, 16, 30, 30, 30};
  for (int i = 0; i < 7; ++i) CHECK(state::nudge_interval(i + 1) == seconds(expected[i]));
}

TEST_CASE("nudge: waiting pods are nudged at once and again until their waiters have gone") {
  GangCluster cluster = released(2);
  const std::string first = nudge_of(cluster, "train-0-x");
  CHECK(first == "started 1 " + format_rfc3339_micro(to_timestamp(cluster.now().wall)));
  CHECK(nudge_of(cluster, "train-1-x") == first);
  CHECK(cluster.reconcile().again_at == cluster.now().wall + seconds(2));

  cluster.pass_barrier("train-0-x");
  cluster.pass(milliseconds(1999));
  CHECK(cluster.settle().empty());
  cluster.pass(milliseconds(1));
  CHECK(cluster.settle() == Texts{"status pods/train-1-x"});
  CHECK(nudge_of(cluster, "train-1-x").starts_with("started 2 "));
  CHECK(cluster.reconcile().again_at == cluster.now().wall + seconds(4));
  cluster.pass_barrier("train-1-x");
  cluster.pass(seconds(100));
  CHECK(cluster.settle().empty());
  CHECK_FALSE(cluster.reconcile().again_at.has_value());
}

TEST_CASE("nudge: only waiting pods of the released run") {
  GangCluster cluster = released(2);
  cluster.epoch = "epoch-2";
  cluster.patch(kJobs, "train", {{"spec", {{"template", waiting_template("train.job-group-scheduling", "epoch-2")}}}});
  cluster.start(cluster.make_pod("train", 0, "y"));
  cluster.settle();
  CHECK(nudge_of(cluster, "train-0-y").empty());
}

TEST_CASE("nudge: a clock that is set back does not silence it") {
  GangCluster cluster = released(1);
  cluster.jump_wall_clock(-std::chrono::hours(1));
  CHECK(cluster.settle() == Texts{"status pods/train-0-x"});
  CHECK(cluster.reconcile().again_at == cluster.now().wall + seconds(4));
}

TEST_CASE("nudge: no more than a chunk per plan and the rest at once after it") {
  GangCluster cluster;
  cluster.make_own_job(kNudgesPerPlan + 10);
  cluster.start(cluster.make_pods());
  cluster.apply(cluster.reconcile().writes.at(0));
  Plan plan = cluster.reconcile();
  REQUIRE(plan.writes.size() == 1);  // the decision alone
  cluster.apply(plan.writes[0]);
  plan = cluster.reconcile();
  CHECK(plan.writes.size() == size_t{kNudgesPerPlan});  // the condition is among them
  CHECK(plan.again_at == cluster.now().wall);
  for (const Write& write : plan.writes) cluster.apply(write);
  CHECK(cluster.reconcile().writes.size() == 11);
}

TEST_CASE("nudge: pods of an expired run hear of it only if they outlive their owner's end") {
  GangCluster cluster;
  cluster.make_own_job(2);
  const auto pods = cluster.make_pods();
  cluster.start(pods[0]);
  cluster.settle();
  cluster.pass(seconds(kTimeout));
  cluster.settle();
  REQUIRE_FALSE(cluster.condition("FailureTarget").empty());
  CHECK(nudge_of(cluster, pods[0]).empty());
  CHECK(cluster.reconcile().again_at == cluster.now().wall + seconds(10));
  cluster.pass(seconds(10));
  CHECK(cluster.settle() == Texts{"status pods/train-0-x"});
  CHECK(nudge_of(cluster, pods[0]).starts_with("expired 1 "));
}

}  // namespace group_scheduling_nudge_test
