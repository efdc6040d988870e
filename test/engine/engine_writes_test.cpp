// The engine around reconcilers: who is asked when, and what becomes of their writes.
#include <doctest/doctest.h>

#include <functional>

#include "api/watched_kinds.h"
#include "engine/engine.h"

using namespace muster;
using namespace muster::engine;
using nlohmann::json;

namespace {

Now at(int64_t ms) {
  const auto offset = std::chrono::milliseconds(ms);
  return {TimePoint(std::chrono::seconds(1'800'000'000) + offset), MonotonicTime(offset)};
}

TypedObject job(const char* name, int version, json annotations = json::object()) {
  return read_object(kJobs, {{"apiVersion", "batch/v1"},
                             {"kind", "Job"},
                             {"metadata",
                              {{"namespace", "team-a"},
                               {"name", name},
                               {"uid", name},
                               {"resourceVersion", std::to_string(version)},
                               {"annotations", std::move(annotations)}}}});
}

ObjectKey key(const char* name) {
  return {&kJobs, "team-a", name};
}

// Wants every Job to bear the annotation `seen`.
reconcilers::Plan mark(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  const Job* found = context.state.job(target.ns, target.name);
  if (found == nullptr || !found->meta.annotation("seen").empty()) return {};
  reconcilers::Write write{.verb = reconcilers::Verb::kPatch,
                           .target = target,
                           .body = {{"metadata", {{"annotations", {{"seen", "yes"}}}}}}};
  write.events.push_back({.regarding = {.kind = "Job", .name = target.name}, .reason = "Seen"});
  return {.writes = {std::move(write)}};
}

void requests_for_jobs(const state::ClusterState&, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (std::holds_alternative<JobPtr>(object)) keys.push_back(key_of(object));
}

const reconcilers::Reconciler kMark{.name = "mark", .requests_for = requests_for_jobs, .reconcile = mark};
const reconcilers::Reconciler* const kMarkOnly[] = {&kMark};

void lead(Engine& engine) {
  for (const WatchedKind& kind : watched_kinds()) engine.apply(KindListed{kind.type, {}}, at(0));
  engine.apply(LeadershipChanged{true}, at(0));
}

// The one write that the engine asks for.
Command only_write(Engine& engine, Now now) {
  Commands commands = engine.plan(now);
  REQUIRE(commands.writes.size() == 1);
  return std::move(commands.writes[0]);
}

}  // namespace

TEST_CASE("engine: a change is reconciled once and the answer to the write ends it") {
  Engine engine({}, kMarkOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  const Command command = only_write(engine, at(0));
  CHECK(command.needs_leadership);
  CHECK(to_text(command.write.target) == "jobs/team-a/a");
  CHECK(engine.plan(at(1)).empty());  // under way
  engine.apply(WriteFinished{command.id, reconcilers::WriteOutcome::kDone, job("a", 2, {{"seen", "yes"}})}, at(2));
  CHECK(engine.plan(at(2)).writes.empty());
  // The watch tells nothing new.
  engine.apply(ObjectChanged{job("a", 2, {{"seen", "yes"}})}, at(3));
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
  engine.apply(
      WriteFinished{commands.writes.at(0).id, reconcilers::WriteOutcome::kDone, job("a", 2, {{"seen", "yes"}})},
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
  engine.apply(WriteFinished{commands.writes[0].id, reconcilers::WriteOutcome::kDone, job("a", 4, {{"seen", "yes"}})},
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
  CHECK(engine.state().job("team-a", "a") == nullptr);
  CHECK(engine.view()->owner("batch", "Job", "team-a", "a") == nullptr);
  CHECK(engine.plan(at(60'000)).empty());
}

namespace {

// Wants a ConfigMap beside each Job.
reconcilers::Plan make_map(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  const ObjectKey map{&kConfigMaps, target.ns, target.name};
  if (context.state.config_map(map.ns, map.name) != nullptr || context.state.taken(map, context.now.monotonic))
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
  engine.apply(WriteFinished{first.id, reconcilers::WriteOutcome::kDone, job("a", 2, {{"seen", "yes"}})}, at(0));
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
    engine.apply(ObjectChanged{job("a", 5, {{"seen", "yes"}})}, at(60'000));
    CHECK(only_write(engine, at(60'000)).write.verb == reconcilers::Verb::kCreate);
  }
  SUBCASE("shown before the answer") {
    engine.apply(ObjectChanged{job("a", 6, {{"seen", "yes"}})}, at(0));
    CHECK(engine.plan(at(0)).writes.empty());
    engine.apply(finished, at(0));
    CHECK(only_write(engine, at(0)).write.verb == reconcilers::Verb::kCreate);
  }
  SUBCASE("a younger version shows it too, and so does a list") {
    engine.apply(finished, at(0));
    engine.apply(KindListed{&kJobs, {job("a", 7, {{"seen", "yes"}})}, 8}, at(0));
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
    engine.apply(ObjectChanged{job("a", 5, {{"seen", "yes"}})}, at(0));
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

namespace {

// Wants a ConfigMap for every Job.
reconcilers::Plan want_config_map(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  const ObjectKey made{&kConfigMaps, target.ns, target.name};
  const state::ClusterState& state = context.state;
  if (state.job(target.ns, target.name) == nullptr || state.config_map(made.ns, made.name) != nullptr) return {};
  return {.writes = {{.verb = reconcilers::Verb::kCreate,
                      .target = made,
                      .body = {{"metadata", {{"name", made.name}, {"namespace", made.ns}}}},
                      .refusal = ObjectEvent{.regarding = {.kind = "Job", .name = target.name},
                                             .type = std::string(kWarningEvent),
                                             .reason = "ConfigMapCreationFailed",
                                             .note = "ConfigMap cannot be created: "}}}};
}

const reconcilers::Reconciler kWantConfigMap{
    .name = "want", .requests_for = requests_for_jobs, .reconcile = want_config_map};
const reconcilers::Reconciler* const kWantOnly[] = {&kWantConfigMap};

}  // namespace

TEST_CASE("engine: what the API server refuses to create is told with its sentence and tried again") {
  Engine engine({}, kWantOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  const Command command = only_write(engine, at(0));
  engine.apply(
      WriteFinished{.id = command.id, .outcome = reconcilers::WriteOutcome::kRefused, .why = "exceeded quota: small"},
      at(1));
  Commands commands = engine.plan(at(1));
  REQUIRE(commands.events.size() == 1);
  CHECK(commands.events[0].reason == "ConfigMapCreationFailed");
  CHECK(commands.events[0].note == "ConfigMap cannot be created: exceeded quota: small");
  CHECK(commands.writes.empty());
  const state::ClusterState::Rejection* rejection = engine.state().rejection(key("a"));
  REQUIRE(rejection != nullptr);
  CHECK(rejection->why == "exceeded quota: small");
  CHECK(to_text(rejection->target) == "configmaps/team-a/a");

  // Not at once, and with success it is over.
  REQUIRE(engine.next_tick().has_value());
  const int64_t again = std::chrono::ceil<std::chrono::milliseconds>(engine.next_tick()->time_since_epoch()).count();
  CHECK(again > 1);
  const Command second = only_write(engine, at(again));
  const TypedObject made = read_object(
      kConfigMaps, {{"metadata", {{"name", "a"}, {"namespace", "team-a"}, {"uid", "c"}, {"resourceVersion", "9"}}}});
  engine.apply(WriteFinished{second.id, reconcilers::WriteOutcome::kDone, made}, at(again));
  CHECK(engine.state().rejection(key("a")) == nullptr);
}

TEST_CASE("engine: trouble on the way to the API server is told to nobody") {
  Engine engine({}, kWantOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  const Command command = only_write(engine, at(0));
  engine.apply(WriteFinished{.id = command.id, .outcome = reconcilers::WriteOutcome::kFailed}, at(1));
  CHECK(engine.plan(at(1)).events.empty());
  CHECK(engine.state().rejection(key("a")) == nullptr);
}

TEST_CASE("engine: a rejection goes with the object for whose sake it was") {
  Engine engine({}, kWantOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  const Command command = only_write(engine, at(0));
  engine.apply(WriteFinished{.id = command.id, .outcome = reconcilers::WriteOutcome::kRefused, .why = "no"}, at(1));
  engine.apply(ObjectRemoved{job("a", 2)}, at(2));
  CHECK(engine.state().rejection(key("a")) == nullptr);
}

namespace {

// The same, where only the ConfigMap waits.
reconcilers::Plan want_config_map_and_mark(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  reconcilers::Plan plan = mark(target, context);
  reconcilers::Plan more = want_config_map(target, context);
  if (more.writes.empty()) return plan;
  if (const auto left = context.state.refused_for(more.writes[0].target, context.now.monotonic)) {
    plan.wake_at(context.now.wall + *left);
    return plan;
  }
  more.writes[0].waits_alone = true;
  plan.writes.push_back(std::move(more.writes[0]));
  return plan;
}

const reconcilers::Reconciler kBoth{
    .name = "both", .requests_for = requests_for_jobs, .reconcile = want_config_map_and_mark};
const reconcilers::Reconciler* const kBothOnly[] = {&kBoth};

}  // namespace

TEST_CASE("engine: a create that is refused waits longer each time and nothing else of its key does") {
  Engine engine({}, kBothOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1, {{"seen", "yes"}})}, at(0));
  const auto refuse = [&](int64_t ms) {
    const Command command = only_write(engine, at(ms));
    CHECK(to_text(command.write.target) == "configmaps/team-a/a");
    engine.apply(WriteFinished{.id = command.id, .outcome = reconcilers::WriteOutcome::kRefused, .why = "no"}, at(ms));
  };
  refuse(0);
  // Something else is done at once.
  engine.apply(ObjectChanged{job("a", 2)}, at(10));
  const Command other = only_write(engine, at(10));
  CHECK(to_text(other.write.target) == "jobs/team-a/a");
  engine.apply(WriteFinished{other.id, reconcilers::WriteOutcome::kDone, job("a", 3, {{"seen", "yes"}})}, at(11));
  for (const int64_t ms : {12, 500, 900}) CHECK(engine.plan(at(ms)).writes.empty());
  refuse(1000);
  CHECK(engine.plan(at(2900)).writes.empty());
  refuse(3000);
  CHECK(engine.plan(at(6900)).writes.empty());
  REQUIRE(engine.next_tick().has_value());
  CHECK(*engine.next_tick() <= at(7000).monotonic);
  refuse(7000);
}
