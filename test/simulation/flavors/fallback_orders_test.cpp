// Flavor fallback in every order of what can happen during it.
#include "test/simulation/flavors/world.h"

namespace flavor_fallback_orders_test {

using namespace muster;
using namespace muster::world;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

enum class Happening { kCapacityFreed, kTimeout, kRejectedCheck, kPreempted, kRestart, kNewLeader };

// A check of every flavor, whose controller says Ready a second after it is asked.
class CheckedWorld : public FlavorWorld {
 public:
  CheckedWorld(const std::vector<json>& objects, WorldOptions options) : FlavorWorld(objects, std::move(options)) {
    require_done(create({{"apiVersion", kAdmissionChecks.api_version},
                         {"kind", kAdmissionChecks.kind},
                         {"metadata", {{"name", "machines"}}},
                         {"spec", {{"controllerName", "example.com/machines"}}}}));
    require_done(patch_status({&kAdmissionChecks, "", "machines"},
                              {{"status",
                                {{"conditions", json::array({{{"type", "Active"},
                                                              {"status", "True"},
                                                              {"reason", "Active"},
                                                              {"message", ""},
                                                              {"lastTransitionTime", "2026-01-01T00:00:00Z"}}})}}}}));
    api_server().on_change([this](const Change& change) {
      if (*change.type != kWorkloads || change.removed) return;
      const WorkloadPtr workload = read_workload(*change.after);
      if (!workload->has_quota_reserved() || workload->evicted() || workload->finished()) return;
      for (const AdmissionCheckState& check : workload->status.admission_checks) {
        if (check.state == "Pending") answer_later(workload->meta.name);
      }
    });
  }
  void say(const std::string& workload, const char* state) {
    const ObjectKey key{&kWorkloads, "default", workload};
    json checks = array_at(get(key), {"status", "admissionChecks"});
    if (checks.empty()) return;
    checks[0]["state"] = state;
    patch_status(key, {{"status", {{"admissionChecks", checks}}}});
  }

 private:
  void answer_later(const std::string& workload) {
    at(elapsed() + 1s, [this, workload] {
      const json now = get({&kWorkloads, "default", workload});
      if (now.is_null()) return;
      const WorkloadPtr read = read_workload(now);
      if (read->has_quota_reserved() && !read->evicted() && !read->status.admission_checks.empty() &&
          read->status.admission_checks[0].state == "Pending")
        say(workload, "Ready");
    });
  }
};

void happen(CheckedWorld& world, Happening event) {
  switch (event) {
    case Happening::kCapacityFreed:
      world.remove(job_key("first"));
      break;
    case Happening::kTimeout:
      world.run_for(3min);
      break;
    case Happening::kRejectedCheck: {
      const WorkloadPtr late = world.read("late");
      if (late->has_quota_reserved() && !late->evicted()) world.say(late->meta.name, "Rejected");
      break;
    }
    case Happening::kPreempted:
      // One for each flavor, so that one of them needs the place of the late one.
      for (const char* name : {"urgent0", "urgent1", "urgent2"})
        world.submit(name, 30, {{"metadata", {{"labels", {{kPriorityClassLabel, "high"}}}}}});
      break;
    case Happening::kRestart:
      world.kill(std::max(world.leader(), 0), 2s);
      break;
    case Happening::kNewLeader:
      world.elect(world.leader() == 0 ? 1 : 0);
      break;
  }
}

}  // namespace

TEST_CASE("flavor fallback: in every order of events no failed flavor is tried and the Workload comes to its end") {
  const json rules =
      json::array({{{"name", "*"}, {"timeoutMinutes", 3}}, {{"name", "*"}, {"trigger", "AdmissionCheckRejected"}}});
  std::vector<Happening> order = {Happening::kCapacityFreed, Happening::kTimeout, Happening::kRejectedCheck,
                                  Happening::kPreempted,     Happening::kRestart, Happening::kNewLeader};
  // A prime, so that each event comes at each place.
  const int stride = kSanitized ? 89 : soak_size(11, 1);
  int orders = 0;
  do {
    if (orders % stride != 0) {
      ++orders;
      continue;
    }
    // Each order under one policy, by turns.
    const char* policy = ++orders % 2 == 0 ? "DeactivateWorkload" : "RetryAllFlavors";
    std::vector<json> objects = three_flavors(rules, policy, 1, 1, 1);
    for (json& object : objects) {
      if (object["kind"] != kClusterQueues.kind) continue;
      object["spec"]["preemption"] = {{"withinClusterQueue", "LowerPriority"}};
      object["spec"]["admissionChecksStrategy"] = {{"admissionChecks", json::array({{{"name", "machines"}}})}};
    }
    objects.push_back(two_teams(2).back());  // the class `high`
    CheckedWorld world(objects, {.seed = static_cast<uint64_t>(orders), .replicas = 2});
    world.sold_out({"spot"});
    world.submit("first", 7200);
    REQUIRE(world.run_until([&] { return world.runs_on("first", "reservation"); }, 1min));
    world.submit("late", 600);
    REQUIRE(world.run_until([&] { return world.tried("late").size() == 1; }, 1min));
    for (const Happening event : order) {
      happen(world, event);
      world.run_for(20s);
    }
    world.remove(job_key("first"));
    world.nodes().put_on_sale(kTier, "spot");
    const auto is_over = [&] { return world.complete("late") || !world.read("late")->active; };
    CHECK_MESSAGE(world.run_until(is_over, 3h), world.report());
    if (!world.read("late")->active) CHECK(std::string(policy) == "DeactivateWorkload");
    CHECK_MESSAGE(world.settle(), world.report());
    CHECK_MESSAGE(world.violations().empty(), world.report());
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(orders == 720);
}

}  // namespace flavor_fallback_orders_test
