// The engine and the CRDs whose objects muster converts.
#include <doctest/doctest.h>

#include "base/encoding.h"
#include "engine/engine.h"
#include "kinds/watched_kinds.h"

namespace conversion_keeper_test {

using namespace muster;
using namespace muster::engine;
using nlohmann::json;

namespace {

const ResourceType& kDefinitions = kCustomResourceDefinitions;
constexpr const char* kWorkloadDefinition = "workloads.kueue.x-k8s.io";

Now at(int seconds) {
  return {TimePoint(std::chrono::seconds(1'800'000'000 + seconds)), MonotonicTime(std::chrono::seconds(seconds))};
}

json definition(const char* name, const char* version, const char* bundle = "") {
  json config = {
      {"service",
       {{"name", "muster-conversion-service"}, {"namespace", "muster-system"}, {"path", "/convert"}, {"port", 443}}}};
  if (*bundle) config["caBundle"] = base64_encode(bundle);
  const json webhook = {{"conversionReviewVersions", {"v1"}}, {"clientConfig", config}};
  return {
      {"apiVersion", kDefinitions.api_version},
      {"kind", kDefinitions.kind},
      {"metadata", {{"name", name}, {"resourceVersion", version}, {"labels", {{"app.kubernetes.io/name", "muster"}}}}},
      {"spec", {{"versions", json::array()}, {"conversion", {{"strategy", "Webhook"}, {"webhook", webhook}}}}}};
}

TypedObject read(const json& made) {
  return read_object(kDefinitions, made);
}

KindListed listed(const char* name, const json& made) {
  return {&kDefinitions, {read(made)}, 7, name};
}

std::string target_of(const Commands& commands) {
  return commands.writes.size() == 1 ? to_text(commands.writes[0].write.target) : "not one write";
}

}  // namespace

TEST_CASE("engine: a definition gets its CA bundle before the first sync and without leadership") {
  Engine engine({});
  engine.apply(listed(kWorkloadDefinition, definition(kWorkloadDefinition, "7")), at(0));
  CHECK(engine.plan(at(0)).empty());  // no bundle yet
  CHECK(engine.webhooks().live_bundles() == std::vector<std::string>{""});
  engine.apply(CaBundleIssued{"PEM"}, at(1));
  REQUIRE_FALSE(engine.kinds().synced());
  const Commands commands = engine.plan(at(1));
  REQUIRE(target_of(commands) == "customresourcedefinitions/workloads.kueue.x-k8s.io");
  CHECK_FALSE(commands.writes[0].needs_leadership);
  const json& body = commands.writes[0].write.body;
  CHECK(body["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"] == base64_encode("PEM"));

  engine.apply(ObjectChanged{read(definition(kWorkloadDefinition, "8", "PEM"))}, at(2));
  engine.apply(WriteFinished{commands.writes[0].id, reconcilers::WriteOutcome::kDone}, at(2));
  CHECK(engine.plan(at(60)).empty());
  CHECK(engine.webhooks().live_bundles() == std::vector<std::string>{"PEM"});
}

TEST_CASE("engine: a bundle is asked for again whenever an object with another one has changed") {
  using Bundles = std::vector<std::string>;
  const char* cohorts = "cohorts.kueue.x-k8s.io";
  Engine engine({});
  engine.apply(CaBundleIssued{"PEM"}, at(0));
  engine.apply(listed(kWorkloadDefinition, definition(kWorkloadDefinition, "7", "OLD")), at(0));
  engine.apply(listed(cohorts, definition(cohorts, "7", "OLD")), at(0));
  CHECK(engine.webhooks().take_seen_bundles() == Bundles{"OLD"});
  CHECK_FALSE(engine.webhooks().take_seen_bundles());
  engine.apply(CaBundleIssued{"PEM"}, at(1));
  const Commands commands = engine.plan(at(1));
  REQUIRE(commands.writes.size() == 2);

  // One has it now; the other was changed by another writer, and our write met that.
  engine.apply(ObjectChanged{read(definition(kWorkloadDefinition, "8", "PEM"))}, at(2));
  CHECK(engine.webhooks().take_seen_bundles() == Bundles{"OLD", "PEM"});
  engine.apply(CaBundleIssued{"PEM"}, at(3));
  engine.apply(ObjectChanged{read(definition(cohorts, "8", "OLD"))}, at(4));
  for (const Command& command : commands.writes) {
    const bool met = command.write.target.name == cohorts;
    engine.apply(
        WriteFinished{command.id, met ? reconcilers::WriteOutcome::kConflict : reconcilers::WriteOutcome::kDone},
        at(4));
  }
  CHECK(engine.webhooks().take_seen_bundles() == Bundles{"OLD", "PEM"});
  engine.apply(CaBundleIssued{"PEM"}, at(5));
  CHECK(target_of(engine.plan(at(60))) == std::string("customresourcedefinitions/") + cohorts);
}

TEST_CASE("engine: a bundle that was emptied by hand comes back") {
  Engine engine({});
  engine.apply(CaBundleIssued{"PEM"}, at(0));
  engine.apply(listed(kWorkloadDefinition, definition(kWorkloadDefinition, "7", "PEM")), at(0));
  CHECK(engine.plan(at(0)).empty());
  engine.apply(ObjectChanged{read(definition(kWorkloadDefinition, "8"))}, at(10));
  CHECK(target_of(engine.plan(at(10))) == "customresourcedefinitions/workloads.kueue.x-k8s.io");
}

TEST_CASE("engine: a list of one definition says nothing about the others") {
  Engine engine({});
  engine.apply(listed(kWorkloadDefinition, definition(kWorkloadDefinition, "7", "PEM")), at(0));
  engine.apply(listed("cohorts.kueue.x-k8s.io", definition("cohorts.kueue.x-k8s.io", "7", "OLD")), at(0));
  CHECK(engine.webhooks().live_bundles() == std::vector<std::string>{"OLD", "PEM"});
  engine.apply(KindListed{&kDefinitions, {}, 8, "cohorts.kueue.x-k8s.io"}, at(1));
  CHECK(engine.webhooks().live_bundles() == std::vector<std::string>{"PEM"});
  engine.apply(ObjectRemoved{read(definition(kWorkloadDefinition, "9", "PEM"))}, at(2));
  CHECK(engine.webhooks().live_bundles().empty());
}

TEST_CASE("engine: the JobSet definition is no business of the keeper and the others none of the state") {
  Engine engine({});
  json jobsets = definition("jobsets.jobset.x-k8s.io", "7", "PEM");
  engine.apply(KindListed{&kDefinitions, {read(jobsets)}, 7}, at(0));
  engine.apply(listed(kWorkloadDefinition, definition(kWorkloadDefinition, "7")), at(0));
  CHECK(engine.state().find(kDefinitions, "", "jobsets.jobset.x-k8s.io") != nullptr);
  CHECK(engine.state().find(kDefinitions, "", kWorkloadDefinition) == nullptr);
  CHECK(engine.webhooks().live_bundles() == std::vector<std::string>{""});
  // Nor does a list of one of them take the JobSets' away.
  engine.apply(KindListed{&kDefinitions, {}, 8, kWorkloadDefinition}, at(1));
  CHECK(engine.state().find(kDefinitions, "", "jobsets.jobset.x-k8s.io") != nullptr);
}

TEST_CASE("engine: definitions are left alone where the keeping is switched off") {
  EngineSettings off;
  off.keep_webhook_configurations = false;
  Engine engine(std::move(off));
  engine.apply(CaBundleIssued{"PEM"}, at(0));
  engine.apply(listed(kWorkloadDefinition, definition(kWorkloadDefinition, "7")), at(0));
  CHECK(engine.plan(at(1)).empty());
}

TEST_CASE("engine: webhook configurations wait for the first sync although definitions do not") {
  Engine engine({});
  engine.apply(CaBundleIssued{"PEM"}, at(0));
  const json configuration = {{"apiVersion", kMutatingWebhookConfigurations.api_version},
                              {"kind", kMutatingWebhookConfigurations.kind},
                              {"metadata", {{"name", "muster"}, {"resourceVersion", "7"}}},
                              {"webhooks", json::array()}};
  engine.apply(ObjectChanged{read_object(kMutatingWebhookConfigurations, configuration)}, at(0));
  CHECK(engine.plan(at(0)).empty());
  for (const WatchedKind& kind : watched_kinds()) engine.apply(KindListed{kind.type, {}}, at(1));
  CHECK(target_of(engine.plan(at(1))) == "mutatingwebhookconfigurations/muster");
}

}  // namespace conversion_keeper_test
