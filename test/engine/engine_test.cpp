#include "engine/engine.h"

#include <doctest/doctest.h>

#include "base/encoding.h"
#include "kinds/kind_description.h"
#include "kinds/serving_types.h"
#include "kinds/watched_kinds.h"

namespace engine_test {

using namespace muster;
using namespace muster::engine;
using nlohmann::json;

namespace {

Now at(int seconds) {
  return {TimePoint(std::chrono::seconds(1'800'000'000 + seconds)), MonotonicTime(std::chrono::seconds(seconds))};
}

const ResourceType& kMutating = kMutatingWebhookConfigurations;
const ResourceType& kValidating = kValidatingWebhookConfigurations;

json configuration(const ResourceType& type, const char* resource_version) {
  json made = {{"apiVersion", type.api_version},
               {"kind", type.kind},
               {"metadata", {{"name", "muster"}, {"resourceVersion", resource_version}}}};
  made["webhooks"] = json::array();
  return made;
}

TypedObject named(const ResourceType& type, const char* ns, const char* name) {
  json made = {{"apiVersion", type.api_version}, {"kind", type.kind}, {"metadata", {{"name", name}}}};
  if (*ns) made["metadata"]["namespace"] = ns;
  return read_object(type, made);
}

struct SyncedEngine : Engine {
  explicit SyncedEngine(EngineSettings settings = {}) : Engine(std::move(settings)) {
    for (const WatchedKind& kind : watched_kinds()) apply(KindListed{kind.type, {}}, at(0));
  }
};

}  // namespace

TEST_CASE("engine: synced only after every watched kind was listed or is one that clusters do without") {
  Engine engine({});
  for (const WatchedKind& kind : watched_kinds()) {
    CHECK_FALSE(engine.kinds().synced());
    engine.apply(KindAbsent{kind.type}, at(0));
    if (kind.optional) continue;
    CHECK(engine.kinds().missing().size() == 1);
    engine.apply(KindListed{kind.type, {}}, at(0));
    CHECK(engine.kinds().missing().empty());
  }
  CHECK(engine.kinds().synced());
}

TEST_CASE("engine: reconcilers know which kinds the cluster does not have") {
  static const reconcilers::Reconciler tells{
      .name = "tells",
      .requests_for = [](const state::ClusterState&, const TypedObject& object,
                         std::vector<ObjectKey>& keys) { keys.push_back(key_of(object)); },
      .reconcile = [](const ObjectKey& key, const reconcilers::ReconcileContext& context) -> reconcilers::Plan {
        const json patch = {{"metadata", {{"annotations", {{"served", context.serves(kJobSets)}}}}}};
        return {.writes = {{.verb = reconcilers::Verb::kPatch, .target = key, .body = patch}}};
      }};
  static const reconcilers::Reconciler* const table[] = {&tells};
  for (const bool served : {true, false}) {
    Engine engine({}, table);
    for (const WatchedKind& kind : watched_kinds()) {
      if (*kind.type == kJobSets && !served)
        engine.apply(KindAbsent{kind.type}, at(0));
      else
        engine.apply(KindListed{kind.type, {}}, at(0));
    }
    engine.apply(LeadershipChanged{true}, at(0));
    engine.apply(ObjectChanged{named(kJobs, "team-a", "train")}, at(0));
    const Commands commands = engine.plan(at(1));
    REQUIRE(commands.writes.size() == 1);
    CHECK(commands.writes[0].write.body["metadata"]["annotations"]["served"] == served);
  }
}

TEST_CASE("engine: a relist drops what is gone and keeps what is there") {
  SyncedEngine engine;
  engine.apply(KindListed{&kNamespaces, {named(kNamespaces, "", "a"), named(kNamespaces, "", "b")}}, at(0));
  engine.apply(ObjectChanged{named(kNamespaces, "", "c")}, at(1));
  engine.apply(KindListed{&kNamespaces, {named(kNamespaces, "", "b")}}, at(2));
  const ClusterViewPtr view = engine.view();
  CHECK(view->namespace_labels("a") == nullptr);
  CHECK(view->namespace_labels("b") != nullptr);
  CHECK(view->namespace_labels("c") == nullptr);
}

TEST_CASE("engine: a removed object leaves the next view but not one already handed out") {
  SyncedEngine engine;
  const TypedObject queue = named(kLocalQueues, "a", "default");
  engine.apply(ObjectChanged{queue}, at(0));
  const ClusterViewPtr before = engine.view();
  engine.apply(ObjectRemoved{queue}, at(1));
  CHECK(before->local_queue("a", "default") != nullptr);
  CHECK(engine.view()->local_queue("a", "default") == nullptr);
}

TEST_CASE("engine: rules see jobs of described kinds as owners, and what these consult") {
  SyncedEngine engine;
  const ResourceType& trainjobs = find_described_kind("trainer.kubeflow.org", "TrainJob")->type();
  const ResourceType& runtimes = *find_consulted_kind("trainer.kubeflow.org", "ClusterTrainingRuntime");
  const TypedObject job = named(trainjobs, "a", "mine"), runtime = named(runtimes, "", "torch");
  engine.apply(ObjectChanged{job}, at(0));
  engine.apply(ObjectChanged{runtime}, at(0));
  engine.apply(ObjectChanged{named(kStatefulSets, "a", "set")}, at(0));
  CHECK(engine.view()->owner("trainer.kubeflow.org", "TrainJob", "a", "mine") != nullptr);
  CHECK(engine.view()->consulted(runtimes, "", "torch") != nullptr);
  CHECK(engine.view()->owner("apps", "StatefulSet", "a", "set") == nullptr);

  engine.apply(ObjectRemoved{job}, at(1));
  engine.apply(ObjectRemoved{runtime}, at(1));
  CHECK(engine.view()->owner("trainer.kubeflow.org", "TrainJob", "a", "mine") == nullptr);
  CHECK(engine.view()->consulted(runtimes, "", "torch") == nullptr);
}

TEST_CASE("engine: the webhook configurations are written once when sync and bundle are there") {
  SyncedEngine engine;
  engine.apply(ObjectChanged{read_object(kMutating, configuration(kMutating, "7"))}, at(0));
  CHECK(engine.plan(at(0)).empty());  // no bundle yet

  engine.apply(CaBundleIssued{"PEM"}, at(1));
  const Commands commands = engine.plan(at(1));
  REQUIRE(commands.writes.size() == 1);
  const Command& command = commands.writes[0];
  CHECK(to_text(command.write.target) == "mutatingwebhookconfigurations/muster");
  CHECK(command.write.verb == reconcilers::Verb::kPatch);
  CHECK_FALSE(command.needs_leadership);
  CHECK(command.write.body["metadata"]["resourceVersion"] == "7");
  CHECK(engine.plan(at(2)).empty());  // the write is under way

  // The API server stored exactly what was asked: nothing more to do.
  json stored = configuration(kMutating, "8");
  stored["webhooks"] = command.write.body["webhooks"];
  engine.apply(ObjectChanged{read_object(kMutating, stored)}, at(2));
  engine.apply(WriteFinished{command.id, reconcilers::WriteOutcome::kDone}, at(2));
  CHECK(engine.plan(at(60)).empty());
  CHECK_FALSE(engine.next_tick().has_value());
}

TEST_CASE("engine: a failed write is tried again after the interval and not before") {
  SyncedEngine engine;
  engine.apply(CaBundleIssued{"PEM"}, at(0));
  engine.apply(ObjectChanged{read_object(kValidating, configuration(kValidating, "7"))}, at(0));
  const Commands first = engine.plan(at(10));
  REQUIRE(first.writes.size() == 1);
  engine.apply(WriteFinished{first.writes[0].id, reconcilers::WriteOutcome::kFailed}, at(10));
  CHECK(engine.plan(at(11)).empty());
  REQUIRE(engine.next_tick().has_value());
  CHECK(*engine.next_tick() == at(12).monotonic);
  CHECK(engine.plan(at(12)).writes.size() == 1);
}

TEST_CASE("engine: a bundle that somebody else injected is not overwritten before ours was confirmed") {
  SyncedEngine engine;
  engine.apply(CaBundleIssued{"PEM"}, at(0));
  engine.apply(ObjectChanged{read_object(kMutating, configuration(kMutating, "7"))}, at(0));
  json stored = configuration(kMutating, "8");
  const Command command = engine.plan(at(0)).writes.at(0);
  stored["webhooks"] = command.write.body["webhooks"];
  engine.apply(WriteFinished{command.id, reconcilers::WriteOutcome::kDone}, at(0));
  for (json& webhook : stored["webhooks"]) webhook["clientConfig"]["caBundle"] = base64_encode("NEWER");
  engine.apply(ObjectChanged{read_object(kMutating, stored)}, at(10));
  CHECK(engine.webhooks().live_bundles() == std::vector<std::string>{"NEWER"});
  CHECK(engine.plan(at(10)).empty());
  engine.apply(CaBundleIssued{"NEWER"}, at(11));
  CHECK(engine.plan(at(11)).empty());
  engine.apply(CaBundleIssued{"PEM"}, at(12));
  CHECK(engine.plan(at(12)).writes.size() == 1);
}

TEST_CASE("engine: a configuration that a relist no longer has is not written") {
  SyncedEngine engine;
  engine.apply(ObjectChanged{read_object(kMutating, configuration(kMutating, "7"))}, at(0));
  engine.apply(KindListed{&kMutating, {}}, at(1));
  engine.apply(CaBundleIssued{"PEM"}, at(1));
  CHECK(engine.plan(at(1)).empty());
}

TEST_CASE("engine: other webhook configurations and switched-off keeping are left alone") {
  EngineSettings off;
  off.keep_webhook_configurations = false;
  SyncedEngine engine(off);
  engine.apply(CaBundleIssued{"PEM"}, at(0));
  engine.apply(ObjectChanged{read_object(kMutating, configuration(kMutating, "7"))}, at(0));
  CHECK(engine.plan(at(1)).empty());

  SyncedEngine keeper;
  keeper.apply(CaBundleIssued{"PEM"}, at(0));
  json foreign = configuration(kMutating, "7");
  foreign["metadata"]["name"] = "somebody-else";
  keeper.apply(ObjectChanged{read_object(kMutating, foreign)}, at(0));
  CHECK(keeper.plan(at(1)).empty());
}

}  // namespace engine_test
