#include "state/admission_block.h"

#include "scheduler/eligibility.h"
#include "state/scheduler_driver.h"
#include "test/reconcilers/queues/queue_cluster.h"

namespace admission_block_test {

using namespace muster;
using namespace muster::state;
using namespace muster::test;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

WaitForPodsReady five_minutes(bool recovery) {
  WaitForPodsReady wait;
  wait.timeout = minutes(5);
  wait.block_admission = true;
  if (recovery) wait.recovery_timeout = minutes(1);
  return wait;
}

}  // namespace

TEST_CASE("who keeps others out and for how long") {
  QueueCluster cluster;
  const auto with = [&](json status, std::vector<json> conditions) {
    for (json& condition : conditions) status["conditions"].push_back(std::move(condition));
    return status;
  };
  const json admitted = cluster.admitted_status(minutes(2));
  const json waits = cluster.condition("PodsReady", "False", "WaitForStart", minutes(2));
  const json lost = cluster.condition("PodsReady", "False", "WaitForRecovery", minutes(1));
  struct Row {
    const char* name;
    json status;
    bool recovery_timeout;
    bool blocks;
    std::optional<Duration> left;  // nullopt: until something changes
  };
  const Row rows[] = {
      {"one without quota keeps nobody out", json::object(), false, false, {}},
      {"one that was just admitted counts until it is evicted", admitted, false, true, {}},
      {"so it does when it says that it waits", with(admitted, {waits}), false, true, {}},
      {"one that is ready keeps nobody out",
       with(admitted, {cluster.condition("PodsReady", "True", "Started")}),
       false,
       false,
       {}},
      {"one that is over keeps nobody out",
       with(admitted, {waits, cluster.condition("Finished", "True", "Failed")}),
       false,
       false,
       {}},
      {"one that waits for checks counts for the timeout from its reservation", cluster.reserved_status(minutes(2)),
       false, true, minutes(3)},
      {"one that is evicted counts for the timeout from its eviction",
       with(admitted, {waits, cluster.condition("Evicted", "True", "Preempted", seconds(30))}), false, true,
       minutes(5) - seconds(30)},
      {"one that lost a pod counts until the recovery timeout evicts it", with(admitted, {lost}), true, true, {}},
      {"one that lost a pod and has no recovery timeout counts for the timeout", with(admitted, {lost}), false, true,
       minutes(4)},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    const WorkloadPtr workload =
        std::get<WorkloadPtr>(read_object(kWorkloads, QueueCluster::workload(json::object(), row.status)));
    const auto block = admission_block(*workload, five_minutes(row.recovery_timeout));
    REQUIRE(block.has_value() == row.blocks);
    if (!block) continue;
    CHECK(block->until.has_value() == row.left.has_value());
    if (row.left) CHECK(*block->until == cluster.now().wall + *row.left);
  }
}

TEST_CASE("a Workload that waits for checks wakes when it keeps nobody out any more") {
  QueueCluster cluster;
  cluster.settings.queues.wait_for_pods_ready = five_minutes(false);
  cluster.put(kAdmissionChecks, "check", {{"spec", {{"controllerName", "c"}}}});
  cluster.put_queues({{"admissionChecksStrategy", {{"admissionChecks", {{{"name", "check"}}}}}}});
  cluster.put(kWorkloads, "wl", QueueCluster::workload(json::object(), cluster.reserved_status(minutes(2))));
  cluster.settle();
  CHECK(cluster.reconcile(QueueCluster::workload_key()).again_at == cluster.now().wall + minutes(3));
  cluster.settings.queues.wait_for_pods_ready->block_admission = false;
  CHECK_FALSE(cluster.reconcile(QueueCluster::workload_key()).again_at.has_value());
}

TEST_CASE("every replica knows who keeps others out and the one that has waited longest is named") {
  const auto settings_with = [](bool block) {
    QueueSettings settings;
    settings.wait_for_pods_ready = five_minutes(false);
    settings.wait_for_pods_ready->block_admission = block;
    return settings;
  };
  const QueueCluster cluster;
  const ClusterState state{QueueSettings()};
  const auto workload = [&](const char* name, const json& status) {
    json object = QueueCluster::workload(json::object(), status);
    object["metadata"] = {{"namespace", "team-a"}, {"name", name}, {"uid", name}};
    return read_object(kWorkloads, object);
  };
  const TypedObject late = workload("late", cluster.admitted_status(minutes(1)));
  const TypedObject early = workload("early", cluster.admitted_status(minutes(2)));
  SchedulerDriver driver(settings_with(true));
  CHECK_FALSE(driver.blocked_by(cluster.now()).has_value());
  driver.put(late, state, cluster.now());
  driver.put(early, state, cluster.now());
  REQUIRE(driver.blocked_by(cluster.now()).has_value());
  CHECK(to_text(*driver.blocked_by(cluster.now())) == "workloads/team-a/early");
  driver.remove(early, state, cluster.now());
  CHECK(to_text(*driver.blocked_by(cluster.now())) == "workloads/team-a/late");

  // One that waits for checks does so for its time, whatever happens to the wall clock.
  const TypedObject reserved = workload("reserved", cluster.reserved_status(minutes(2)));
  for (const Duration jump : {Duration(minutes(60)), Duration(minutes(-60))}) {
    const auto after = [&](Duration passed) {
      return Now{cluster.now().wall + passed + jump, cluster.now().monotonic + passed};
    };
    SchedulerDriver waits(settings_with(true));
    waits.put(reserved, state, cluster.now());
    waits.put(reserved, state, after(minutes(1)));
    CHECK(waits.blocked_by(after(minutes(3) - seconds(1))).has_value());
    CHECK_FALSE(waits.blocked_by(after(minutes(3))).has_value());
  }

  SchedulerDriver off(settings_with(false));
  off.put(late, state, cluster.now());
  CHECK_FALSE(off.blocked_by(cluster.now()).has_value());
}

TEST_CASE("admission blocks: the first that has not ended blocks, and by name where two began together") {
  const Now now{TimePoint(seconds(1'767'268'800)), MonotonicTime(minutes(60))};
  AdmissionBlocks blocks;
  CHECK(blocks.first(now.monotonic).empty());
  blocks.put("team/late", {now.wall - seconds(1)}, now);
  blocks.put("team/b", {now.wall - seconds(9)}, now);
  blocks.put("team/a", {now.wall - seconds(9)}, now);
  blocks.put("team/ends", {now.wall - seconds(20), now.wall + seconds(5)}, now);
  CHECK(blocks.first(now.monotonic) == "team/ends");
  CHECK(blocks.first(now.monotonic + seconds(5)) == "team/a");
  // The same block does not begin again, another one does.
  const Now later{now.wall + seconds(6), now.monotonic + seconds(6)};
  blocks.put("team/ends", {now.wall - seconds(20), now.wall + seconds(5)}, later);
  CHECK(blocks.first(later.monotonic) == "team/a");
  blocks.put("team/ends", {now.wall - seconds(19), now.wall + seconds(7)}, later);
  CHECK(blocks.first(later.monotonic) == "team/ends");
  blocks.erase("team/ends");
  blocks.erase("team/a");
  blocks.erase("team/unknown");
  CHECK(blocks.first(later.monotonic) == "team/b");
  blocks.put("team/b", {now.wall}, later);
  CHECK(blocks.first(later.monotonic) == "team/late");
}

}  // namespace admission_block_test
