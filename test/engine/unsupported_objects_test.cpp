#include "engine/unsupported_objects.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "test/engine/marked_jobs.h"

namespace unsupported_objects_test {

using namespace muster;
using namespace muster::engine;
using namespace muster::test;
using nlohmann::json;

namespace {

TypedObject flavor(const char* name, int version, const char* topology) {
  json object = {{"metadata", {{"name", name}, {"uid", name}, {"resourceVersion", std::to_string(version)}}}};
  if (*topology) object["spec"]["topologyName"] = topology;
  return read_object(kResourceFlavors, object);
}

std::vector<std::string> told(const Commands& commands) {
  std::vector<std::string> names;
  for (const ObjectEvent& event : commands.events) {
    if (event.reason == "Unsupported") names.push_back(event.regarding.name);
  }
  return names;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("unsupported objects: each is told once and counted as long as it is there") {
  Engine engine({}, {});
  lead(engine);
  engine.apply(ObjectChanged{flavor("a", 1, "t")}, at(0));
  Commands commands = engine.plan(at(0));
  CHECK(told(commands) == Texts{"a"});
  CHECK(commands.events[0].type == kWarningEvent);
  REQUIRE(commands.unsupported.size() == 1);
  CHECK(to_text(commands.unsupported[0].object) == "resourceflavors/a");
  const auto count = [&] { return engine.unsupported().gauges().at(0).value; };
  const GaugeLabels labels = {{"kind", "ResourceFlavor"}, {"what", "topologyName"}};
  CHECK((engine.unsupported().gauges().at(0).labels == labels));
  CHECK(count() == 1);

  // Another version of it, and another one: no second line in the log.
  engine.apply(ObjectChanged{flavor("a", 2, "t")}, at(1));
  engine.apply(ObjectChanged{flavor("b", 3, "t")}, at(1));
  commands = engine.plan(at(1));
  CHECK(told(commands) == Texts{"b"});
  CHECK(commands.unsupported.empty());
  CHECK(count() == 2);

  engine.apply(ObjectChanged{flavor("a", 4, "")}, at(2));
  engine.apply(ObjectRemoved{flavor("b", 5, "t")}, at(2));
  CHECK(told(engine.plan(at(2))).empty());
  CHECK(count() == 0);
}

TEST_CASE("unsupported objects: a replica that does not lead counts and the next leader tells") {
  Engine engine({}, {});
  for (const WatchedKind& kind : watched_kinds()) engine.apply(KindListed{kind.type, {}}, at(0));
  engine.apply(ObjectChanged{flavor("a", 1, "t")}, at(0));
  CHECK(told(engine.plan(at(0))).empty());
  CHECK(engine.unsupported().gauges().at(0).value == 1);
  engine.apply(LeadershipChanged{true}, at(1));
  CHECK(told(engine.plan(at(1))) == Texts{"a"});
}

}  // namespace unsupported_objects_test
