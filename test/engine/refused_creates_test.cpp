// What becomes of creates that the API server refuses.
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "api/job.h"
#include "test/engine/marked_jobs.h"

namespace refused_creates_test {

using namespace muster;
using namespace muster::engine;
using namespace muster::test;
using nlohmann::json;

namespace {

// Wants a ConfigMap for every Job.
reconcilers::Plan want_config_map(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  const ObjectKey made{&kConfigMaps, target.ns, target.name};
  const state::ClusterState& state = context.state;
  if (state.find<Job>(target.ns, target.name) == nullptr || state.find<ConfigMap>(made.ns, made.name) != nullptr)
    return {};
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
  const state::WriteMemory::Rejection* rejection = engine.state().writes().rejection(key("a"));
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
  CHECK(engine.state().writes().rejection(key("a")) == nullptr);
}

TEST_CASE("engine: trouble on the way to the API server is told to nobody") {
  Engine engine({}, kWantOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  const Command command = only_write(engine, at(0));
  engine.apply(WriteFinished{.id = command.id, .outcome = reconcilers::WriteOutcome::kFailed}, at(1));
  CHECK(engine.plan(at(1)).events.empty());
  CHECK(engine.state().writes().rejection(key("a")) == nullptr);
}

TEST_CASE("engine: a rejection goes with the object for whose sake it was") {
  Engine engine({}, kWantOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  const Command command = only_write(engine, at(0));
  engine.apply(WriteFinished{.id = command.id, .outcome = reconcilers::WriteOutcome::kRefused, .why = "no"}, at(1));
  engine.apply(ObjectRemoved{job("a", 2)}, at(2));
  CHECK(engine.state().writes().rejection(key("a")) == nullptr);
}

namespace {

// The same, where only the ConfigMap waits.
reconcilers::Plan want_config_map_and_mark(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  reconcilers::Plan plan = mark(target, context);
  reconcilers::Plan more = want_config_map(target, context);
  if (more.writes.empty()) return plan;
  more.writes[0].maker = state::Maker{"uid of " + target.name, "ConfigMap"};
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
  engine.apply(ObjectChanged{job("a", 1, {{kSeen, "yes"}})}, at(0));
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
  engine.apply(WriteFinished{other.id, reconcilers::WriteOutcome::kDone, job("a", 3, {{kSeen, "yes"}})}, at(11));
  for (const int64_t ms : {12, 500, 900}) CHECK(engine.plan(at(ms)).writes.empty());
  refuse(1000);
  CHECK(engine.plan(at(2900)).writes.empty());
  refuse(3000);
  CHECK(engine.plan(at(6900)).writes.empty());
  REQUIRE(engine.next_tick().has_value());
  CHECK(*engine.next_tick() <= at(7000).monotonic);
  refuse(7000);
}

namespace {

// Wants this many ConfigMaps for every Job.
constexpr int kWanted = 300;
reconcilers::Plan want_config_maps(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  reconcilers::Plan all;
  const reconcilers::Plan one = want_config_map(target, context);
  for (int i = 0; i < kWanted && !one.writes.empty(); ++i) {
    reconcilers::Write write = one.writes[0];
    write.target.name += "-" + std::to_string(i);
    if (context.state.find<ConfigMap>(write.target.ns, write.target.name) != nullptr) continue;
    write.maker = state::Maker{"uid of " + target.name, "ConfigMaps"};
    all.writes.push_back(std::move(write));
  }
  return all;
}
const reconcilers::Reconciler kWantMany{
    .name = "many", .requests_for = requests_for_jobs, .reconcile = want_config_maps};
const reconcilers::Reconciler* const kManyOnly[] = {&kWantMany};

// Deletes a Job whenever there is one.
reconcilers::Plan undo_job(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  const Job* job = context.state.find<Job>(target.ns, target.name);
  if (job == nullptr) return {};
  return {.writes = {{.verb = reconcilers::Verb::kDelete,
                      .target = target,
                      .uid = job->meta.uid,
                      .maker = state::Maker{"set", "Jobs"}}}};
}
const reconcilers::Reconciler kUndo{.name = "undo", .requests_for = requests_for_jobs, .reconcile = undo_job};
const reconcilers::Reconciler* const kUndoOnly[] = {&kUndo};

}  // namespace

TEST_CASE("engine: of the creates of one template that are all refused few are sent") {
  Engine engine({}, kManyOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  int64_t sent = 0;
  for (int64_t ms = 0; ms < 60'000; ms += 100) {
    for (const Command& command : engine.plan(at(ms)).writes) {
      ++sent;
      engine.apply(
          WriteFinished{.id = command.id, .outcome = reconcilers::WriteOutcome::kRefused, .why = "no completions"},
          at(ms));
    }
  }
  CHECK(sent > 90);
  CHECK(sent <= 120);
}

TEST_CASE("engine: creates of one template that succeed go on at once") {
  Engine engine({}, kManyOnly);
  lead(engine);
  engine.apply(ObjectChanged{job("a", 1)}, at(0));
  std::set<std::string> made;
  uint64_t version = 10;
  for (int64_t ms = 0; ms < 10; ++ms) {
    for (const Command& command : engine.plan(at(ms)).writes) {
      CHECK(made.insert(command.write.target.name).second);
      const TypedObject object = read_object(kConfigMaps, {{"metadata",
                                                            {{"name", command.write.target.name},
                                                             {"namespace", "team-a"},
                                                             {"uid", command.write.target.name},
                                                             {"resourceVersion", std::to_string(++version)}}}});
      engine.apply(WriteFinished{command.id, reconcilers::WriteOutcome::kDone, object}, at(ms));
    }
  }
  CHECK(made.size() == kWanted);
}

TEST_CASE("engine: a delete after which the object is made again is repeated ever less often") {
  Engine engine({}, kUndoOnly);
  lead(engine);
  uint64_t version = 1;
  std::vector<int64_t> times;
  for (int64_t ms = 0; ms < 60'000; ms += 100) {
    if (engine.state().find<Job>("team-a", "a") == nullptr) engine.apply(ObjectChanged{job("a", version += 2)}, at(ms));
    for (const Command& command : engine.plan(at(ms)).writes) {
      times.push_back(ms);
      engine.apply(WriteFinished{.id = command.id, .outcome = reconcilers::WriteOutcome::kDone}, at(ms));
      engine.apply(ObjectRemoved{job("a", version + 1)}, at(ms));
    }
  }
  CHECK(times == std::vector<int64_t>{0, 1000, 3000, 7000, 15'000, 31'000});
}

}  // namespace refused_creates_test
