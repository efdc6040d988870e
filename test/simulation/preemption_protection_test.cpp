// Protection from early preemption in virtual time: who started recently is no victim, and every preemptor is
// served once protection ends, whatever happens until then.
#include <doctest/doctest.h>

#include "api/codec/json.h"
#include "api/workload.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/simulation/require_done.h"
#include "test/support/soak.h"
#include "test/world/world.h"

namespace preemption_protection_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr Duration kProtection = 120s;

// Two teams of this many cpus that protect their Workloads from their own and from each other.
std::vector<json> protecting_teams(int cpus) {
  std::vector<json> objects = two_teams(cpus);
  for (json& object : objects) {
    if (object["kind"] == kClusterQueues.kind)
      object["metadata"]["annotations"] = {{kPreemptionProtectionAnnotation, "120s"},
                                           {kReclaimProtectionAnnotation, "120s"}};
  }
  return objects;
}

// Watches the invariant: a Workload is preempted no earlier than kProtection after the stamp of its admission, unless
// the preemptor was there before it.
class ProtectedWorld : public World {
 public:
  explicit ProtectedWorld(const std::vector<json>& objects, WorldOptions options = {}) : World(std::move(options)) {
    for (const json& object : objects) require_done(create(object));
    api_server().on_change([this](const Change& change) { see(change); });
  }

  void submit(const std::string& name, const char* team, const char* priority, int run_seconds, int pods = 1) {
    json job = queued_job(pods, name);
    job["metadata"]["labels"] = {{kQueueNameLabel, team}, {kPriorityClassLabel, priority}};
    job["spec"]["template"]["metadata"]["annotations"] = {{kRunSeconds, std::to_string(run_seconds)}};
    require_done(create(job));
  }
  bool complete(const std::string& job) { return condition_true(job_key(job), "Complete"); }
  int preemptions() const { return preemptions_; }
  // Of the Workload of a job: how long after its admission it was preempted the last time.
  std::optional<Duration> preempted_after(const std::string& job) {
    const auto found = preempted_after_.find(job);
    return found == preempted_after_.end() ? std::nullopt : std::optional(found->second);
  }
  const std::vector<std::string>& too_early() const { return too_early_; }
  std::string reason_of(const std::string& job) {
    for (const json& workload : list(kWorkloads)) {
      const WorkloadPtr read = read_workload(workload);
      if (!read->meta.controller || read->meta.controller->name != job) continue;
      const Condition* reserved = find_condition(read->status.conditions, kQuotaReservedCondition);
      return reserved == nullptr ? "" : reserved->reason.text();
    }
    return "";
  }

 private:
  void see(const Change& change) {
    if (*change.type != kWorkloads || change.removed || change.before == nullptr) return;
    const WorkloadPtr before = read_workload(*change.before), after = read_workload(*change.after);
    if (!after->is_true(kPreemptedCondition) || before->is_true(kPreemptedCondition) || !after->meta.controller) return;
    const Condition* admitted = find_condition(before->status.conditions, kAdmittedCondition);
    if (admitted == nullptr || !admitted->is_true()) return;
    ++preemptions_;
    const std::string job = after->meta.controller->name;
    const Duration ran = now().wall - to_time_point(admitted->last_transition);
    preempted_after_[job] = ran;
    const bool came_later = to_time_point(admitted->last_transition) >= preemptor_since(*after);
    if (ran < kProtection && !came_later) too_early_.push_back(job + " after " + format_duration(ran));
  }

  // Since when the preemptor exists that the message names; the end of time if it is gone.
  TimePoint preemptor_since(const Workload& victim) {
    const std::string message = find_condition(victim.status.conditions, kPreemptedCondition)->message;
    for (const json& workload : list(kWorkloads)) {
      const WorkloadPtr read = read_workload(workload);
      if (message.find("(UID: " + read->meta.uid + ",") != std::string::npos) return to_time_point(read->meta.created);
    }
    return TimePoint::max();
  }

  int preemptions_ = 0;
  std::map<std::string, Duration> preempted_after_;
  std::vector<std::string> too_early_;
};

}  // namespace

TEST_CASE("protection: a preemptor waits with its reason and evicts when the protection ends and no later") {
  ProtectedWorld world(protecting_teams(2));
  world.submit("low0", "red", "low", 3600, 4);
  REQUIRE(world.run_until([&] { return world.pods_running("low0") == 4; }, 1min));
  world.run_for(20s);
  world.submit("high", "red", "high", 60, 2);
  INFO(world.report());
  CHECK(world.run_until([&] { return world.reason_of("high") == "WaitingForProtectedWorkloads"; }, 10s));
  CHECK(world.run_until([&] { return world.complete("high"); }, 10min));
  CHECK(world.has_event("WaitingForProtectedWorkloads"));
  REQUIRE(world.preempted_after("low0"));
  CHECK(*world.preempted_after("low0") >= kProtection);
  CHECK(*world.preempted_after("low0") <= kProtection + 3s);
  CHECK(world.too_early().empty());
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

TEST_CASE("protection: borrowed quota goes back when its own protection ends") {
  ProtectedWorld world(protecting_teams(2));
  world.submit("borrower", "red", "high", 3600, 4);
  REQUIRE(world.run_until([&] { return world.pods_running("borrower") == 4; }, 1min));
  world.submit("owner", "blue", "low", 60, 2);
  INFO(world.report());
  CHECK(world.run_until([&] { return world.complete("owner"); }, 10min));
  REQUIRE(world.preempted_after("borrower"));
  CHECK(*world.preempted_after("borrower") <= kProtection + 3s);
  CHECK(world.too_early().empty());
  CHECK(world.settle());
}

TEST_CASE("protection: a restart, a new leader and a jump of the clock neither shorten it nor lose the preemptor") {
  enum class Happening { kRestart, kNewLeader, kClockForward, kClockBack };
  for (const Happening event :
       {Happening::kRestart, Happening::kNewLeader, Happening::kClockForward, Happening::kClockBack}) {
    ProtectedWorld world(protecting_teams(2), {.replicas = 2});
    world.submit("low0", "red", "low", 3600, 4);
    REQUIRE(world.run_until([&] { return world.pods_running("low0") == 4; }, 1min));
    world.submit("high", "red", "high", 60, 2);
    world.run_for(30s);
    const Duration begun = world.elapsed();
    const bool jumps = event == Happening::kClockForward || event == Happening::kClockBack;
    switch (event) {
      case Happening::kRestart:
        world.kill(world.leader(), 2s);
        break;
      case Happening::kNewLeader:
        world.elect(world.leader() == 0 ? 1 : 0);
        break;
      case Happening::kClockForward:
        world.jump_wall_clock(1h);
        break;
      case Happening::kClockBack:
        world.jump_wall_clock(-1h);
        break;
    }
    INFO(world.report());
    CHECK(world.run_until([&] { return world.preemptions() == 1; }, 10min));
    // 90 s were left, whatever the wall clock says.
    CHECK(world.elapsed() - begun >= 85s);
    CHECK(world.elapsed() - begun <= 100s);
    if (!jumps) CHECK(world.too_early().empty());
    CHECK(world.run_until([&] { return world.complete("high"); }, 10min));
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

// Each of his Jobs ends and is followed by the next just when the one beside it stops being protected.
TEST_CASE("protection: a tenant whose Jobs follow each other delays a preemptor no longer than one of them") {
  ProtectedWorld world(protecting_teams(4));
  world.submit("neighbour", "blue", "high", 7200, 4);
  world.submit("a0", "red", "low", 3600, 2);
  REQUIRE(world.run_until([&] { return world.pods_running("a0") == 2; }, 1min));
  world.run_for(60s);
  world.submit("b0", "red", "low", 3600, 2);
  REQUIRE(world.run_until([&] { return world.pods_running("b0") == 2; }, 1min));
  world.submit("high", "red", "high", 60, 4);
  const Duration begun = world.elapsed();
  for (int i = 1; i <= 20 && world.pods_running("high") == 0; ++i) {
    world.run_for(30s);
    const std::string job = i % 2 == 0 ? "b" : "a", turn = std::to_string((i - 1) / 2);
    world.remove(job_key(job + turn));
    world.submit(job + std::to_string((i - 1) / 2 + 1), "red", "low", 3600, 2);
  }
  INFO(world.report());
  CHECK(world.run_until([&] { return world.pods_running("high") == 4; }, 1min));
  CHECK(world.elapsed() - begun <= kProtection + 60s);
}

// The queues protect for 120 s and respect 300 s; the class `low` says something else.
TEST_CASE("protection: a class shortens it, and extends it to the limit of the preemptor's queue") {
  for (const auto& [of_class, expected] : {std::pair("20s", 20s), std::pair("240s", 240s), std::pair("1h", 300s)}) {
    std::vector<json> objects = protecting_teams(2);
    for (json& object : objects) {
      if (object["kind"] == kClusterQueues.kind)
        object["metadata"]["annotations"][std::string(kPreemptionProtectionLimitAnnotation)] = "300s";
      if (object["metadata"]["name"] == "low")
        object["metadata"]["annotations"] = {{kPreemptionProtectionAnnotation, of_class}};
    }
    World world(WorldOptions{});
    for (const json& object : objects) require_done(world.create(object));
    json low = queued_job(4, "low0"), high = queued_job(2, "high");
    low["metadata"]["labels"] = {{kQueueNameLabel, "red"}, {kPriorityClassLabel, "low"}};
    low["spec"]["template"]["metadata"]["annotations"] = {{kRunSeconds, "3600"}};
    high["metadata"]["labels"] = {{kQueueNameLabel, "red"}, {kPriorityClassLabel, "high"}};
    require_done(world.create(low));
    REQUIRE(world.run_until([&] { return world.pods_running("low0") == 4; }, 1min));
    const Duration begun = world.elapsed();
    world.run_for(1s);
    require_done(world.create(high));
    INFO(world.report());
    CHECK(world.run_until([&] { return world.pods_running("high") == 2; }, 10min));
    CHECK(world.elapsed() - begun >= expected - 10s);
    CHECK(world.elapsed() - begun <= expected + 20s);
    CHECK(world.violations().empty());
  }
}

TEST_CASE("protection: in storms of faults no protected Workload is a victim and every Job ends") {
  for (uint64_t seed = 1; seed <= seeds(10); ++seed) {
    WorldOptions options{.seed = seed, .replicas = 2};
    options.faults = Faults::storm();
    // A clock that jumps between two processes, or is fast, is no measure of protection; they are killed by hand.
    options.faults.between_accidents = {};
    options.faults.clock_skew = 0;
    ProtectedWorld world(protecting_teams(3), options);
    for (int i = 0; i < 4; ++i) world.submit("low" + std::to_string(i), i % 2 == 0 ? "red" : "blue", "low", 300, 2);
    world.run_for(1min);
    for (int i = 0; i < 2; ++i) world.submit("high" + std::to_string(i), i % 2 == 0 ? "red" : "blue", "high", 60, 3);
    INFO(world.report());
    world.run_for(30s);
    world.kill(std::max(world.leader(), 0), 2s);
    world.run_for(5min);
    world.calm();
    CHECK(world.run_until(
        [&] {
          int done = 0;
          for (int i = 0; i < 4; ++i) done += world.complete("low" + std::to_string(i)) ? 1 : 0;
          for (int i = 0; i < 2; ++i) done += world.complete("high" + std::to_string(i)) ? 1 : 0;
          return done == 6;
        },
        3h));
    for (const std::string& early : world.too_early()) FAIL_CHECK(early);
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

}  // namespace preemption_protection_test
