// The engine around reconcilers: who is asked when, and what becomes of their writes.
#include <doctest/doctest.h>

#include "test/engine/marked_jobs.h"

namespace engine_writes_test {

using namespace muster;
using namespace muster::engine;
using namespace muster::test;
using nlohmann::json;

TEST_CASE("engine: a change is reconciled once and the answer to the write ends it") {
  Engine engine({}, kMarkOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  const Command command = only_write(engine, at(0));
  CHECK(command.needs_leadership);
  CHECK(to_text(command.write.target) == "jobs/team-a/a");
  CHECK(engine.plan(at(1)).empty());  // under way
  engine.apply(WriteFinished{command.id, reconcilers::WriteOutcome::kDone, job("a", 2, {{kSeen, "yes"}})}, at(2));
  CHECK(engine.plan(at(2)).writes.empty());
  // The watch tells nothing new.
  engine.apply(ObjectChanged{job("a", 2, {{kSeen, "yes"}})}, at(3));
  CHECK(engine.plan(at(3)).empty());
}

TEST_CASE("engine: an event is told when its write has succeeded and not before") {
  Engine engine({}, kMarkOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  Commands commands = engine.plan(at(0));
  CHECK(commands.events.empty());
  engine.apply(WriteFinished{commands.writes.at(0).id, reconcilers::WriteOutcome::kConflict}, at(0));
  commands = engine.plan(at(1000));
  CHECK(commands.events.empty());
  engine.apply(WriteFinished{commands.writes.at(0).id, reconcilers::WriteOutcome::kDone, job("a", 2, {{kSeen, "yes"}})},
               at(1000));
  commands = engine.plan(at(1000));
  REQUIRE(commands.events.size() == 1);
  CHECK(commands.events[0].reason == "Seen");
  CHECK(engine.plan(at(1001)).events.empty());
}

TEST_CASE("engine: who does not lead plans nothing and who begins to lead looks at everything") {
  Engine engine({}, kMarkOnly);
  for (const WatchedKind& kind : watched_kinds()) engine.apply(KindListed{kind.type, {}}, at(0));
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  CHECK(engine.plan(at(0)).empty());
  CHECK_FALSE(engine.next_tick().has_value());
  engine.apply(LeadershipChanged{true}, at(1));
  CHECK(engine.leads());
  CHECK(to_text(only_write(engine, at(1)).write.target) == "jobs/team-a/a");
}

TEST_CASE("engine: lost leadership forgets what was planned and a late answer does no harm") {
  Engine engine({}, kMarkOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  engine.apply(ObjectChanged{job("b", 2)}, at(0));
  const Commands commands = engine.plan(at(0));
  REQUIRE(commands.writes.size() == 2);
  engine.apply(ObjectChanged{job("c", 3)}, at(0));
  engine.apply(LeadershipChanged{false}, at(1));
  CHECK(engine.plan(at(1)).empty());
  engine.apply(WriteFinished{commands.writes[0].id, reconcilers::WriteOutcome::kDone, job("a", 4, {{kSeen, "yes"}})},
               at(2));
  CHECK(engine.plan(at(60'000)).writes.empty());
  // Leads again while the second write is still under way: it is not sent twice.
  engine.apply(LeadershipChanged{true}, at(60'000));
  CHECK(to_text(only_write(engine, at(60'000)).write.target) == "jobs/team-a/c");
  engine.apply(WriteFinished{commands.writes[1].id, reconcilers::WriteOutcome::kFailed}, at(60'001));
  CHECK(to_text(only_write(engine, at(70'000)).write.target) == "jobs/team-a/b");
}

TEST_CASE("engine: a failed write is tried again later and later") {
  Engine engine({}, kMarkOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  engine.apply(WriteFinished{only_write(engine, at(0)).id, reconcilers::WriteOutcome::kFailed}, at(0));
  CHECK(engine.plan(at(49)).empty());
  REQUIRE(engine.next_tick() == at(50).monotonic);
  engine.apply(WriteFinished{only_write(engine, at(50)).id, reconcilers::WriteOutcome::kFailed}, at(50));
  CHECK(engine.plan(at(149)).empty());
  CHECK(only_write(engine, at(150)).write.target == key("a"));
}

TEST_CASE("engine: an object that a write finds gone is gone") {
  Engine engine({}, kMarkOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  const Command command = only_write(engine, at(0));
  engine.apply(WriteFinished{command.id, reconcilers::WriteOutcome::kNotFound}, at(0));
  CHECK(engine.state().find<Job>("team-a", "a") == nullptr);
  CHECK(engine.view()->owner("batch", "Job", "team-a", "a") == nullptr);
  CHECK(engine.plan(at(60'000)).empty());
}

namespace {

// Wants a ConfigMap beside each Job.
reconcilers::Plan make_map(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  const ObjectKey map{&kConfigMaps, target.ns, target.name};
  if (context.state.find<ConfigMap>(map.ns, map.name) != nullptr ||
      context.state.writes().has_name_conflict(map, context.now.monotonic))
    return {};
  return {.writes = {{.verb = reconcilers::Verb::kCreate, .target = map, .body = json::object()}}};
}
const reconcilers::Reconciler kMakeMap{.name = "make_map", .requests_for = requests_for_jobs, .reconcile = make_map};

// Asks to be called at a stored time, as deadlines are.
reconcilers::Plan wait_until_noon(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  if (context.now.wall >= at(5000).wall) return mark(target, context);
  return {.again_at = at(5000).wall};
}
const reconcilers::Reconciler kWait{.name = "wait", .requests_for = requests_for_jobs, .reconcile = wait_until_noon};

reconcilers::Plan always_late(const ObjectKey&, const reconcilers::ReconcileContext& context) {
  return {.again_at = context.now.wall - std::chrono::hours(1)};
}
const reconcilers::Reconciler kAlwaysLate{
    .name = "always_late", .requests_for = requests_for_jobs, .reconcile = always_late};

}  // namespace

TEST_CASE("engine: a name that a stranger has is looked at again after half a minute") {
  const reconcilers::Reconciler* const table[] = {&kMakeMap};
  Engine engine({}, table);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  engine.apply(WriteFinished{only_write(engine, at(0)).id, reconcilers::WriteOutcome::kAlreadyExists}, at(0));
  CHECK(engine.plan(at(29'999)).empty());
  REQUIRE(engine.next_tick() == at(30'000).monotonic);
  CHECK(only_write(engine, at(30'000)).write.verb == reconcilers::Verb::kCreate);
}

TEST_CASE("engine: one reconciler writes at a time and the next sees what came of it") {
  const reconcilers::Reconciler* const table[] = {&kMark, &kMakeMap};
  Engine engine({}, table);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  const Command first = only_write(engine, at(0));
  CHECK(first.write.verb == reconcilers::Verb::kPatch);
  engine.apply(WriteFinished{first.id, reconcilers::WriteOutcome::kDone, job("a", 2, {{kSeen, "yes"}})}, at(0));
  CHECK(only_write(engine, at(0)).write.verb == reconcilers::Verb::kCreate);
}

TEST_CASE("engine: a write that is answered with a version ends when the watch shows it") {
  const reconcilers::Reconciler* const table[] = {&kMark, &kMakeMap};
  Engine engine({}, table);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  WriteFinished finished{.id = only_write(engine, at(0)).id, .outcome = reconcilers::WriteOutcome::kDone, .version = 5};
  SUBCASE("shown after the answer") {
    engine.apply(finished, at(0));
    CHECK(engine.plan(at(60'000)).writes.empty());
    engine.apply(ObjectChanged{job("a", 4)}, at(60'000));
    CHECK(engine.plan(at(60'000)).writes.empty());
    engine.apply(ObjectChanged{job("a", 5, {{kSeen, "yes"}})}, at(60'000));
    CHECK(only_write(engine, at(60'000)).write.verb == reconcilers::Verb::kCreate);
  }
  SUBCASE("shown before the answer") {
    engine.apply(ObjectChanged{job("a", 6, {{kSeen, "yes"}})}, at(0));
    CHECK(engine.plan(at(0)).writes.empty());
    engine.apply(finished, at(0));
    CHECK(only_write(engine, at(0)).write.verb == reconcilers::Verb::kCreate);
  }
  SUBCASE("a younger version shows it too, and so does a list") {
    engine.apply(finished, at(0));
    engine.apply(KindListed{&kJobs, {job("a", 7, {{kSeen, "yes"}})}, 8}, at(0));
    CHECK(only_write(engine, at(0)).write.verb == reconcilers::Verb::kCreate);
  }
  SUBCASE("nothing was to be changed") {
    finished.version = 1;
    engine.apply(finished, at(0));
    CHECK(only_write(engine, at(0)).write.verb == reconcilers::Verb::kPatch);
  }
  SUBCASE("the object goes, and one of its name comes") {
    engine.apply(finished, at(0));
    engine.apply(ObjectRemoved{job("a", 6)}, at(0));
    engine.apply(ObjectChanged{job("a", 7)}, at(0));
    CHECK(only_write(engine, at(0)).write.verb == reconcilers::Verb::kPatch);
  }
  SUBCASE("the object had gone before the answer came") {
    engine.apply(ObjectRemoved{job("a", 6)}, at(0));
    engine.apply(finished, at(0));
    engine.apply(ObjectChanged{job("a", 7)}, at(0));
    CHECK(only_write(engine, at(0)).write.verb == reconcilers::Verb::kPatch);
  }
  SUBCASE("who leads anew waits for no write of before") {
    engine.apply(finished, at(0));
    engine.apply(LeadershipChanged{false}, at(0));
    engine.apply(LeadershipChanged{true}, at(0));
    CHECK(only_write(engine, at(0)).write.verb == reconcilers::Verb::kPatch);
    engine.apply(ObjectChanged{job("a", 5, {{kSeen, "yes"}})}, at(0));
    CHECK(engine.plan(at(0)).writes.empty());
  }
}

TEST_CASE("engine: a stored deadline is kept by the monotonic clock") {
  const reconcilers::Reconciler* const table[] = {&kWait};
  Engine engine({}, table);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  CHECK(engine.plan(at(0)).empty());
  REQUIRE(engine.next_tick() == at(5000).monotonic);
  CHECK(engine.plan(at(4999)).empty());
  CHECK(only_write(engine, at(5000)).write.target == key("a"));
}

TEST_CASE("engine: a reconciler that asks for the past does not keep the engine busy") {
  const reconcilers::Reconciler* const table[] = {&kAlwaysLate};
  Engine engine({}, table);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  CHECK(engine.plan(at(0)).empty());
  REQUIRE(engine.next_tick().has_value());
  CHECK(*engine.next_tick() >= at(100).monotonic);
}

TEST_CASE("engine: the view stays the same object until something in it changes") {
  Engine engine({}, kMarkOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  const ClusterViewPtr first = engine.view();
  const json pod = {{"metadata", {{"namespace", "team-a"}, {"name", "p"}, {"resourceVersion", "2"}}}};
  engine.apply(ObjectChanged{read_object(kPods, pod)}, at(0));
  CHECK(engine.view() == first);
  engine.apply(ObjectChanged{job("b", 3)}, at(0));
  CHECK(engine.view() != first);
  CHECK(first->owner("batch", "Job", "team-a", "b") == nullptr);
}

}  // namespace engine_writes_test
