// Webhook configurations that muster keeps and that the cluster has not: where it is reported, and when.
#include <doctest/doctest.h>

#include "engine/engine.h"
#include "kinds/watched_kinds.h"

namespace missing_webhooks_test {

using namespace muster;
using namespace muster::engine;
using nlohmann::json;

namespace {

const ResourceType& kMutating = kMutatingWebhookConfigurations;
const ResourceType& kValidating = kValidatingWebhookConfigurations;

Now at(int seconds) {
  return {TimePoint(std::chrono::seconds(1'800'000'000 + seconds)), MonotonicTime(std::chrono::seconds(seconds))};
}

TypedObject configuration(const ResourceType& type, const char* name = "muster") {
  return read_object(type, {{"apiVersion", type.api_version},
                            {"kind", type.kind},
                            {"metadata", {{"name", name}, {"resourceVersion", "7"}}},
                            {"webhooks", json::array()}});
}

// As muster watches them: each by its name.
KindListed list(const ResourceType& type, std::vector<TypedObject> objects) {
  return {&type, std::move(objects), 7, "muster"};
}

// "none": nothing is to be reported.
std::string told(Engine& engine, int seconds) {
  const auto missing = engine.webhooks().take_missing(at(seconds).monotonic);
  if (!missing) return "none";
  std::string text;
  for (const ObjectKey& key : *missing) text += (text.empty() ? "" : " ") + to_text(key);
  return text;
}

}  // namespace

TEST_CASE("missing webhooks: nothing is missing before it was looked for, nor while all is there") {
  Engine engine({});
  CHECK(told(engine, 0) == "none");
  engine.apply(list(kMutating, {configuration(kMutating)}), at(0));
  engine.apply(list(kValidating, {configuration(kValidating)}), at(0));
  CHECK(told(engine, 0) == "none");
  CHECK(told(engine, 600) == "none");
}

TEST_CASE("missing webhooks: those that a list does not have and those that are deleted are told of") {
  Engine engine({});
  engine.apply(list(kMutating, {}), at(0));
  CHECK(told(engine, 0) == "mutatingwebhookconfigurations/muster");
  engine.apply(list(kValidating, {configuration(kValidating)}), at(1));
  CHECK(told(engine, 1) == "none");
  engine.apply(ObjectRemoved{configuration(kValidating)}, at(2));
  CHECK(told(engine, 2) == "mutatingwebhookconfigurations/muster validatingwebhookconfigurations/muster");
  engine.apply(ObjectChanged{configuration(kMutating)}, at(3));
  CHECK(told(engine, 3) == "validatingwebhookconfigurations/muster");
  engine.apply(ObjectChanged{configuration(kValidating)}, at(4));
  CHECK(told(engine, 4) == "");
  CHECK(told(engine, 400) == "none");
}

TEST_CASE("missing webhooks: it is told again once a minute for as long as it lasts") {
  Engine engine({});
  engine.apply(list(kMutating, {}), at(0));
  int times = 0;
  for (int second = 0; second < 300; second += 5) times += told(engine, second) != "none" ? 1 : 0;
  CHECK(times == 5);
}

TEST_CASE("missing webhooks: those of others, and those that muster does not keep, are not missed") {
  Engine engine({});
  engine.apply(list(kMutating, {configuration(kMutating)}), at(0));
  engine.apply(ObjectRemoved{configuration(kMutating, "another")}, at(1));
  CHECK(told(engine, 1) == "none");

  EngineSettings settings;
  settings.keep_webhook_configurations = false;
  Engine not_kept(std::move(settings));
  not_kept.apply(list(kMutating, {}), at(0));
  CHECK(told(not_kept, 0) == "none");
}

}  // namespace missing_webhooks_test
