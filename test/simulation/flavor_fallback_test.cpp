// Flavor fallback (KEP-2560) in virtual time: the stories of the KEP, its interleavings, and every
// order of what can happen meanwhile. No node of a flavor that is sold out takes a pod.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "api/codec/json.h"
#include "simulation/world.h"
#include "test/simulation/manifests.h"
#include "test/simulation/queues.h"
#include "test/support/soak.h"

using namespace muster;
using namespace muster::simulation;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

constexpr const char* kTier = "tier";

void require_done(const Answer& answer) {
  INFO(answer.message);
  REQUIRE(answer.outcome == WriteOutcome::kDone);
}

json group_of(const char* resource, const std::vector<std::pair<const char*, int>>& flavors) {
  json list = json::array();
  for (const auto& [name, nominal] : flavors)
    list.push_back({{"name", name},
                    {"resources", json::array({{{"name", resource}, {"nominalQuota", std::to_string(nominal)}}})}});
  return {{"coveredResources", {resource}}, {"flavors", list}};
}

// Minutes of reservation, spot and on-demand, for each: none where it is 0.
json rules_of(const std::vector<std::pair<const char*, int>>& minutes) {
  json rules = json::array();
  for (const auto& [name, length] : minutes) {
    json rule = {{"name", name}};
    if (length > 0) rule["timeoutMinutes"] = length;
    rules.push_back(rule);
  }
  return rules;
}

// KEP-2560's queue: so many cpus of each flavor.
std::vector<json> three_flavors(const json& rules, const char* policy, int reservation = 1, int spot = 10,
                                int on_demand = 10) {
  std::vector<json> objects;
  for (const char* name : {"reservation", "spot", "on-demand", "fast", "slow"}) {
    objects.push_back({{"apiVersion", kResourceFlavors.api_version},
                       {"kind", kResourceFlavors.kind},
                       {"metadata", {{"name", name}}},
                       {"spec", {{"nodeLabels", {{kTier, name}}}}}});
  }
  json queue = queues(1)[1];
  queue["spec"]["resourceGroups"] =
      json::array({group_of("cpu", {{"reservation", reservation}, {"spot", spot}, {"on-demand", on_demand}})});
  queue["spec"]["flavorFungibility"] = {{"fallbackStrategy", {{"failurePolicy", policy}, {"rules", rules}}}};
  objects.push_back(queue);
  objects.push_back(queues(1)[2]);
  return objects;
}

const json kKepRules = rules_of({{"reservation", 10}, {"spot", 15}, {"on-demand", 0}});

class FlavorWorld : public World {
 public:
  explicit FlavorWorld(const std::vector<json>& objects, WorldOptions options = {}) : World(std::move(options)) {
    for (const json& object : objects) require_done(create(object));
    api_server().on_change([this](const Change& change) { see(change); });
  }

  void submit(const std::string& name, int run_seconds = 60, json more = json::object()) {
    json job = queued_job(1, name);
    job["spec"]["template"]["metadata"]["annotations"] = {{kRunSeconds, std::to_string(run_seconds)}};
    job.merge_patch(more);
    require_done(create(job));
  }
  json workload(const std::string& job) {
    for (json& candidate : list(kWorkloads)) {
      for (const json& owner : array_at(candidate, {"metadata", "ownerReferences"})) {
        if (owner["name"] == job) return candidate;
      }
    }
    return nullptr;
  }
  WorkloadPtr read(const std::string& job) { return read_workload(workload(job)); }
  bool complete(const std::string& job) { return condition_true(job_key(job), "Complete"); }
  // The flavors of a job's admissions, in order.
  std::vector<std::string> tried(const std::string& job) { return tried_[job]; }
  int evictions(const std::string& job, const std::string& reason) { return evictions_[job + " " + reason]; }
  bool runs_on(const std::string& job, const std::string& flavor) {
    for (const json& pod : list(kPods)) {
      const std::string name = pod["metadata"]["name"];
      if (name.starts_with(job + "-") && string_at(pod, {"status", "phase"}) == "Running")
        return string_at(pod, {"spec", "nodeSelector", kTier}) == flavor;
    }
    return false;
  }
  void sold_out(std::initializer_list<const char*> flavors) {
    for (const char* flavor : flavors) nodes().sell_out(kTier, flavor);
  }
  std::string selector_of(const std::string& job) {
    return std::string(string_at(get(job_key(job)), {"spec", "template", "spec", "nodeSelector", kTier}));
  }

 private:
  void see(const Change& change) {
    if (change.type->plural != kWorkloads.plural || change.removed) return;
    const WorkloadPtr after = read_workload(*change.after);
    const WorkloadPtr before = change.before == nullptr ? nullptr : read_workload(*change.before);
    if (!after->meta.controller) return;
    const std::string job = after->meta.controller->name;
    if (after->has_quota_reserved() && (before == nullptr || !before->has_quota_reserved()))
      tried_[job].push_back(after->status.admission->pod_sets.at(0).flavors.at("cpu"));
    if (after->evicted() && (before == nullptr || !before->evicted()))
      ++evictions_[job + " " + std::string(find_condition(after->status.conditions, "Evicted")->reason)];
  }

  std::map<std::string, std::vector<std::string>> tried_;
  std::map<std::string, int> evictions_;
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("flavor fallback: with the reservation full and spot sold out the job runs on demand") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload"), {.seed = seed});
    world.sold_out({"spot"});
    world.submit("first", 7200);
    REQUIRE(world.run_until([&] { return world.runs_on("first", "reservation"); }, 1min));
    world.submit("late", 60);
    INFO(world.report());
    REQUIRE(world.run_until([&] { return world.tried("late") == Names{"spot"}; }, 1min));
    const Duration begun = world.elapsed();
    CHECK_FALSE(world.run_until([&] { return world.tried("late").size() > 1; }, 14min));
    REQUIRE(world.run_until([&] { return world.runs_on("late", "on-demand"); }, 2min));
    CHECK(world.elapsed() - begun < 16min);
    // Nothing of the first flavor is left in the template.
    CHECK(world.selector_of("late") == "on-demand");
    CHECK(world.run_until([&] { return world.complete("late"); }, 5min));
    CHECK(world.tried("late") == Names{"spot", "on-demand"});
    CHECK(world.evictions("late", "FlavorFallback") == 1);
    CHECK(world.read("late")->status.flavors.empty());
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

// The KEP's first test: flavor 1 is saturated, flavor 2 fails; then flavor 1 if it has capacity.
TEST_CASE("flavor fallback: after a failure an earlier flavor with room is tried before a later one") {
  for (const bool freed : {true, false}) {
    FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload"));
    world.sold_out({"spot"});
    world.submit("first", freed ? 600 : 7200);
    REQUIRE(world.run_until([&] { return world.runs_on("first", "reservation"); }, 1min));
    world.submit("late");
    INFO(world.report());
    CHECK(world.run_until([&] { return world.complete("late"); }, 40min));
    CHECK(world.tried("late") == Names{"spot", freed ? "reservation" : "on-demand"});
    CHECK(world.settle());
  }
}

// The KEP's interleaving: A is full, B fails, A becomes free and fails too.
TEST_CASE("flavor fallback: a flavor that came free and fails as well is not tried again either") {
  FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload"));
  world.sold_out({"spot"});
  world.submit("first", 600);
  REQUIRE(world.run_until([&] { return world.runs_on("first", "reservation"); }, 1min));
  world.submit("late");
  world.run_for(1min);
  world.sold_out({"reservation"});
  INFO(world.report());
  CHECK(world.run_until([&] { return world.complete("late"); }, 60min));
  CHECK(world.tried("late") == Names{"spot", "reservation", "on-demand"});
  CHECK(world.settle());
}

TEST_CASE("flavor fallback: with DeactivateWorkload the Workload is deactivated when all flavors have failed") {
  const json rules = rules_of({{"reservation", 10}, {"spot", 15}, {"on-demand", 5}});
  FlavorWorld world(three_flavors(rules, "DeactivateWorkload"));
  world.sold_out({"reservation", "spot", "on-demand"});
  world.submit("late");
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.evictions("late", "DeactivatedDueToFlavorsExhausted") == 1; }, 60min));
  world.run_for(3h);
  CHECK(world.tried("late") == Names{"reservation", "spot", "on-demand"});
  CHECK_FALSE(world.read("late")->active);
  CHECK(bool_at(world.get(job_key("late")), {"spec", "suspend"}));
  CHECK(world.selector_of("late").empty());
  CHECK(world.has_event("FlavorsExhausted"));
  CHECK(world.settle());

  world.nodes().put_on_sale(kTier, "on-demand");
  const std::string name = world.read("late")->meta.name;
  require_done(world.patch({&kWorkloads, "default", name}, {{"spec", {{"active", true}}}}));
  CHECK(world.run_until([&] { return world.complete("late"); }, 60min));
  CHECK(world.tried("late") == Names{"reservation", "spot", "on-demand", "reservation", "spot", "on-demand"});
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

TEST_CASE("flavor fallback: with RetryAllFlavors the flavors are tried over and over with a growing backoff") {
  const json rules = rules_of({{"*", 5}});
  FlavorWorld world(three_flavors(rules, "RetryAllFlavors"));
  world.sold_out({"reservation", "spot", "on-demand"});
  world.submit("late");
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.tried("late").size() == 9; }, 3h));
  CHECK(world.read("late")->status.flavors.fallback->round == 3);
  // Three times 15 minutes less the last one, and backoffs of 1 and 2 minutes with their jitter.
  CHECK(world.elapsed() > 43min);
  CHECK(world.elapsed() < 46min);
  world.nodes().put_on_sale(kTier, "spot");
  CHECK(world.run_until([&] { return world.complete("late"); }, 3h));
  CHECK(world.tried("late").back() == "spot");
  CHECK(world.read("late")->active);
  CHECK(world.read("late")->status.flavors.empty());
  CHECK(world.settle());
  CHECK(world.violations().empty());
}

TEST_CASE("flavor fallback: beside waitForPodsReady the flavor fails after the same time in all") {
  for (const Duration timeout : {Duration(4min), Duration(60min)}) {
    WorldOptions options;
    options.queues.wait_for_pods_ready = WaitForPodsReady{.timeout = timeout};
    FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload", 0), options);
    world.sold_out({"spot"});
    world.submit("late");
    INFO(world.report());
    CHECK(world.run_until([&] { return world.complete("late"); }, 3h));
    CHECK(world.evictions("late", "FlavorFallback") == 1);
    CHECK(world.evictions("late", "PodsReadyTimeout") == (timeout == 4min ? 3 : 0));
    CHECK(world.tried("late").back() == "on-demand");
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

TEST_CASE("flavor fallback: a gang leaves the flavor by whichever time is over first and by one eviction") {
  for (const int deadline : {300, 1800}) {
    FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload", 0));
    world.sold_out({"spot"});
    world.submit("late", 60,
                 {{"metadata",
                   {{"annotations", {{"muster.batch/group-scheduling-timeout-seconds", std::to_string(deadline)}}}}}});
    INFO(world.report());
    CHECK(world.run_until([&] { return world.complete("late"); }, 6h));
    CHECK(world.evictions("late", "FlavorFallback") == 1);
    CHECK(world.tried("late").back() == "on-demand");
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

TEST_CASE("flavor fallback: of two resource groups the one falls back that fails") {
  std::vector<json> objects = three_flavors(rules_of({{"spot", 5}}), "DeactivateWorkload", 0);
  for (json& object : objects) {
    if (object["kind"] == kClusterQueues.kind)
      object["spec"]["resourceGroups"].push_back(group_of("example.com/gpu", {{"fast", 1}, {"slow", 1}}));
    // The other group's flavors say nothing of the tier: their label has another key.
    if (object["kind"] == kResourceFlavors.kind && object["metadata"]["name"] == "fast")
      object["spec"]["nodeLabels"] = {{"card", "fast"}};
  }
  FlavorWorld world(objects);
  world.sold_out({"spot"});
  json container = queued_job(1, "late")["spec"]["template"]["spec"]["containers"][0];
  container["resources"] = {{"requests", {{"cpu", "1"}, {"example.com/gpu", "1"}}},
                            {"limits", {{"example.com/gpu", "1"}}}};
  world.submit("late", 60, {{"spec", {{"template", {{"spec", {{"containers", json::array({container})}}}}}}}});
  INFO(world.report());
  REQUIRE(world.run_until([&] { return world.runs_on("late", "on-demand"); }, 10min));
  const auto& flavors = world.read("late")->status.admission->pod_sets.at(0).flavors;
  CHECK(flavors.at("cpu") == "on-demand");
  CHECK(flavors.at("example.com/gpu") == "fast");
  CHECK(world.settle());
}

TEST_CASE("flavor fallback: storms of faults lose no Workload and try no flavor again") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    WorldOptions options{.seed = seed, .replicas = 2};
    options.faults = Faults::storm();
    FlavorWorld world(three_flavors(rules_of({{"*", 3}}), "RetryAllFlavors", 2, 3, 2), options);
    world.sold_out({"spot"});
    for (int i = 0; i < 5; ++i) world.submit("job" + std::to_string(i));
    INFO(world.report());
    world.run_for(20min);
    world.calm();
    CHECK(world.run_until(
        [&] {
          int done = 0;
          for (int i = 0; i < 5; ++i) done += world.complete("job" + std::to_string(i));
          return done == 5;
        },
        3h));
    CHECK(world.settle());
    CHECK(world.violations().empty());
  }
}

TEST_CASE("flavor fallback: a wall clock that jumps makes no flavor fail before its time") {
  FlavorWorld world(three_flavors(kKepRules, "DeactivateWorkload", 0));
  world.sold_out({"spot"});
  world.submit("late");
  REQUIRE(world.run_until([&] { return world.tried("late") == Names{"spot"}; }, 1min));
  world.run_for(1min);
  const Duration begun = world.elapsed();
  world.jump_wall_clock(2h);
  INFO(world.report());
  CHECK_FALSE(world.run_until([&] { return world.tried("late").size() > 1; }, 13min));
  CHECK(world.run_until([&] { return world.complete("late"); }, 5min));
  CHECK(world.elapsed() - begun < 17min);
}

// --- Every order of what can happen ---

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
      if (change.type->plural != kWorkloads.plural || change.removed) return;
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
  const int stride = soak_size(11, 1);
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
