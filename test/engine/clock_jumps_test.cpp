// Deadlines that are stamps in objects, and a wall clock that is set while they are waited for.
#include <doctest/doctest.h>

#include "engine/engine.h"
#include "kinds/watched_kinds.h"

namespace clock_jumps_test {

using namespace muster;
using namespace muster::engine;
using nlohmann::json;
using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr TimePoint kStart{seconds(1'800'000'000)};

// `passed` since the start, after the wall clock was set by `jump`.
Now after(Duration passed, Duration jump = {}) {
  return {kStart + passed + jump, MonotonicTime(passed)};
}

TypedObject workload(int version) {
  return read_object(
      kWorkloads,
      {{"apiVersion", kWorkloads.api_version},
       {"kind", "Workload"},
       {"metadata",
        {{"namespace", "team-a"}, {"name", "wl"}, {"uid", "u"}, {"resourceVersion", std::to_string(version)}}}});
}

// Writes once ten minutes have passed since the start.
reconcilers::Plan late(const ObjectKey& key, const reconcilers::ReconcileContext& context) {
  const TimePoint end = kStart + minutes(10);
  reconcilers::Plan plan;
  if (context.now.wall < end) {
    plan.wake_at(end);
  } else {
    plan.writes.push_back(
        {.verb = reconcilers::Verb::kPatchStatus, .target = key, .body = {{"status", {{"late", true}}}}});
  }
  return plan;
}

void requests_for_all(const state::ClusterState&, const TypedObject& object, std::vector<ObjectKey>& keys) {
  keys.push_back(key_of(object));
}

const reconcilers::Reconciler kLate{.name = "late", .requests_for = requests_for_all, .reconcile = late};
const reconcilers::Reconciler* const kLateOnly[] = {&kLate};

struct EngineWithWorkload : Engine {
  EngineWithWorkload() : Engine({}, kLateOnly) {
    for (const WatchedKind& kind : watched_kinds()) apply(KindListed{kind.type, {}}, after({}));
    apply(LeadershipChanged{true}, after({}));
    apply(ObjectChanged{workload(1)}, after({}));
  }
};

}  // namespace

TEST_CASE("clock jumps: what is waited for comes after the time that has really passed") {
  for (const Duration jump : {Duration(0), Duration(hours(1)), Duration(-hours(1)), Duration(minutes(-7))}) {
    for (const bool touched : {false, true}) {
      EngineWithWorkload engine;
      CHECK(engine.plan(after({})).writes.empty());
      // The clock was set after three minutes; then, perhaps, something happens to the object.
      if (touched) engine.apply(ObjectChanged{workload(2)}, after(minutes(4), jump));
      CHECK(engine.plan(after(minutes(4), jump)).writes.empty());
      REQUIRE(engine.next_tick().has_value());
      CHECK(*engine.next_tick() == after(minutes(10)).monotonic);
      CHECK(engine.plan(after(minutes(10) - seconds(1), jump)).writes.empty());
      CHECK(engine.plan(after(minutes(10), jump)).writes.size() == 1);
    }
  }
}

TEST_CASE("clock jumps: a new leader knows only the stamps and the wall clock") {
  EngineWithWorkload engine;
  CHECK(engine.plan(after({})).writes.empty());
  engine.apply(LeadershipChanged{false}, after(minutes(1)));
  CHECK_FALSE(engine.next_tick().has_value());
  engine.apply(LeadershipChanged{true}, after(minutes(2)));
  CHECK(engine.plan(after(minutes(2))).writes.empty());
  CHECK(*engine.next_tick() == after(minutes(10)).monotonic);
  engine.apply(LeadershipChanged{false}, after(minutes(3)));
  engine.apply(LeadershipChanged{true}, after(minutes(4), hours(1)));
  CHECK(engine.plan(after(minutes(4), hours(1))).writes.size() == 1);
}

}  // namespace clock_jumps_test
