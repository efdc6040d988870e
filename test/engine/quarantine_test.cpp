// One object over which muster fails stops neither the process nor any other key.
#include "engine/quarantine.h"

#include <algorithm>
#include <stdexcept>

#include "api/config_map.h"
#include "api/workload.h"
#include "base/invariant.h"
#include "state/cluster_state.h"
#include "test/engine/served_engine.h"

namespace quarantine_test {

using namespace muster;
using namespace muster::engine;
using namespace muster::test;
using namespace std::chrono_literals;
using namespace nlohmann::literals;

namespace {

// Of the labels that muster keeps of a ConfigMap of no gang.
const std::string kKey = "muster.batch/";

// Fails over ConfigMaps with these labels, as a bug would; of others it counts the looks.
int looks = 0;
reconcilers::Plan fail_over_bad(const ObjectKey& key, const reconcilers::ReconcileContext& context) {
  const ConfigMap* map = context.state.find<ConfigMap>(key.ns, key.name);
  if (map == nullptr) return {};
  check_invariant(!map->meta.labels.contains(kKey + "bad"), "a ConfigMap must not be bad");
  if (map->meta.labels.contains(kKey + "worse")) throw std::runtime_error("no idea");
  ++looks;
  return {};
}
void itself(const state::ClusterState&, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (type_of(object) == kConfigMaps) keys.push_back(key_of(object));
}
void fails_to_map(const state::ClusterState&, const TypedObject& object, std::vector<ObjectKey>&) {
  if (meta_of(object).name == "unconcerning") throw std::out_of_range("concerns");
}
reconcilers::Plan nothing(const ObjectKey&, const reconcilers::ReconcileContext&) {
  return {};
}

const reconcilers::Reconciler kFailing{.name = "failing", .requests_for = itself, .reconcile = fail_over_bad};
const reconcilers::Reconciler kUnconcerning{.name = "unconcerning", .requests_for = fails_to_map, .reconcile = nothing};
const reconcilers::Reconciler* const kTable[] = {&kFailing, &kUnconcerning};

json config_map(const std::string& name, int version, const json& keys) {
  json labels = json::object();
  for (const auto& [key, value] : keys.items()) labels[kKey + key] = value;
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata",
           {{"name", name},
            {"namespace", "team-a"},
            {"uid", name},
            {"resourceVersion", std::to_string(version)},
            {"labels", labels}}}};
}

struct Leader {
  explicit Leader(EngineSettings settings = {}) : engine(std::move(settings), kTable) {
    for (const WatchedKind& kind : watched_kinds()) engine.apply(KindListed{kind.type, {}}, now);
    engine.apply(LeadershipChanged{true}, now);
  }
  Commands put(const std::string& name, int version, const json& data) {
    engine.apply(ObjectChanged{read_object(kConfigMaps, config_map(name, version, data))}, now);
    return engine.plan(now);
  }
  Engine engine;
  Now now{TimePoint(1'800'000'000s), MonotonicTime(1h)};
};

// Fails as code would that is under way in such a step.
struct Saboteur final : StepWatch {
  std::string step, name;
  int left = 0;
  void began(std::string_view what, const ObjectKey* key) override {
    if (left > 0 && what == step && (key == nullptr ? name.empty() : key->name == name)) {
      --left;
      throw std::runtime_error("sabotage");
    }
  }
  void ended() override {}
};

}  // namespace

TEST_CASE("invariant: it tells where it was broken") {
  try {
    check_invariant(true, "holds");
    check_invariant(false, "does not hold");
    FAIL("nothing was thrown");
  } catch (const BrokenInvariant& broken) {
    CHECK(std::string(broken.what()) == "does not hold");
    CHECK(broken.where().starts_with("engine/quarantine_test.cpp:"));
  }
}

TEST_CASE("quarantine: a key over which a reconciler fails is told once and tried when it changes") {
  Leader leader;
  looks = 0;
  const Commands first = leader.put("a", 1, {{"bad", "x"}});
  REQUIRE(first.breakages.size() == 1);
  CHECK(first.breakages[0].key == ObjectKey{&kConfigMaps, "team-a", "a"});
  CHECK(first.breakages[0].where.starts_with("engine/quarantine_test.cpp:"));
  CHECK(first.breakages[0].what == "a ConfigMap must not be bad");
  REQUIRE(first.events.size() == 1);
  CHECK(first.events[0].reason == "InternalError");
  CHECK(first.events[0].regarding.name == "a");
  CHECK(leader.engine.quarantined() == 1);

  CHECK(leader.put("b", 2, json::object()).breakages.empty());
  CHECK(looks == 1);
  CHECK(leader.put("a", 3, {{"bad", "y"}}).breakages.empty());
  const Commands other = leader.put("a", 4, {{"worse", "y"}});
  REQUIRE(other.breakages.size() == 1);
  CHECK(other.breakages[0].where == "failing");
  CHECK(leader.engine.quarantined() == 1);
  CHECK(leader.put("a", 5, json::object()).breakages.empty());
  CHECK(looks == 2);
  CHECK(leader.engine.quarantined() == 0);

  leader.put("a", 6, {{"bad", "x"}});
  CHECK(leader.engine.quarantined() == 1);
  leader.engine.apply(ObjectRemoved{read_object(kConfigMaps, config_map("a", 7, json::object()))}, leader.now);
  leader.engine.plan(leader.now);
  CHECK(leader.engine.quarantined() == 0);
}

TEST_CASE("quarantine: one reconciler's failure does not keep the others from the key") {
  Leader leader;
  looks = 0;
  const Commands commands = leader.put("unconcerning", 1, json::object());
  REQUIRE(commands.breakages.size() == 1);
  CHECK(commands.breakages[0].where == "unconcerning");
  CHECK(commands.breakages[0].what == "concerns");
  CHECK(looks == 1);
}

TEST_CASE("quarantine: the state is made anew without the version over which it broke") {
  Saboteur saboteur;
  Leader leader({.watch = &saboteur});
  leader.put("a", 1, {{"k", "1"}});
  leader.put("b", 2, {{"k", "2"}});
  saboteur.step = "taking in";
  saboteur.name = "a";
  saboteur.left = 1;
  const Commands commands = leader.put("a", 3, {{"k", "3"}});
  REQUIRE(commands.breakages.size() == 1);
  CHECK(commands.breakages[0].broke == Broke::kState);
  CHECK(leader.engine.quarantined() == 1);
  // The version before it stays, and so does everything else.
  REQUIRE(leader.engine.state().find<ConfigMap>("team-a", "a") != nullptr);
  CHECK(leader.engine.state().find<ConfigMap>("team-a", "a")->meta.label(kKey + "k") == "1");
  CHECK(leader.engine.state().find<ConfigMap>("team-a", "b") != nullptr);
  leader.put("a", 4, {{"k", "4"}});
  CHECK(leader.engine.state().find<ConfigMap>("team-a", "a")->meta.label(kKey + "k") == "4");
  CHECK(leader.engine.quarantined() == 0);
}

TEST_CASE("quarantine: a scheduler that broke is made anew and gives no quota away twice") {
  Saboteur saboteur;
  saboteur.step = "scheduling";
  ServedEngine served({.watch = &saboteur});
  served.put_queues("1");
  served.settle();
  served.put_workload("first", "1");
  served.plan();
  const auto admits = [](const Command& command) {
    return command.write.body.contains("/status/admission"_json_pointer);
  };
  REQUIRE(std::count_if(served.writes.begin(), served.writes.end(), admits) == 1);
  // The first one's admission is on its way when the scheduler breaks.
  saboteur.left = 1;
  served.put_workload("second", "1");
  served.plan();
  served.pass(2s);
  served.plan();
  CHECK(std::count_if(served.writes.begin(), served.writes.end(), admits) == 1);
  served.settle();
  CHECK(served.engine.state().find<Workload>("team-a", "first")->has_quota_reserved());
  CHECK_FALSE(served.engine.state().find<Workload>("team-a", "second")->has_quota_reserved());
  // It rests for a while, since it broke at no Workload.
  served.pass(10s);
  served.vanish(kWorkloads, "first");
  served.settle();
  CHECK(served.engine.state().find<Workload>("team-a", "second")->has_quota_reserved());
}

}  // namespace quarantine_test
