// What a configuration adds to the kinds that muster knows, as values: two registries live beside each other.
#include "kinds/kind_registry.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kinds/kind_description.h"
#include "kinds/serving_types.h"

namespace kind_registry_test {
using namespace muster;
using nlohmann::json;

json row(const char* group, const char* kind, const char* resource) {
  return {{"apiVersion", kJobKindApiVersion},
          {"kind", kJobKindKind},
          {"framework", std::string(group) + "/" + kind},
          {"group", group},
          {"version", "v1alpha1"},
          {"kindName", kind},
          {"resource", resource},
          {"suspend", "spec.suspend"},
          {"podSets", {{{"name", "main"}, {"path", "spec.main"}}}},
          {"active", {{"path", "status.running"}, {"nonzero", true}}},
          {"ready", {{"condition", "Ready"}}},
          {"ends", {{{"condition", "Arrived"}, {"success", true}}}}};
}

KindDescriptionPtr read(const json& text) {
  auto kind = read_kind_description(text);
  REQUIRE(kind.ok());
  return *kind;
}

std::string field_of_error(std::vector<KindDescriptionPtr> own) {
  const auto registry = KindRegistry::with(own);
  return registry ? std::string() : registry.error().front().field;
}

bool watches(const KindRegistry& kinds, const ResourceType& type) {
  return std::any_of(kinds.watched().begin(), kinds.watched().end(),
                     [&](const WatchedKind& watched) { return *watched.type == type; });
}

TEST_CASE("kind registry: a resource is known by its group, so Volcano's jobs are beside those of batch") {
  const KindDescriptionPtr volcano = read(row("batch.volcano.sh", "Job", "jobs"));
  const auto kinds = KindRegistry::with(std::vector{volcano});
  REQUIRE(kinds.ok());
  CHECK((*kinds)->queues("batch.volcano.sh", "jobs"));
  CHECK((*kinds)->queues("batch", "jobs"));
  CHECK_FALSE((*kinds)->queues("example.com", "jobs"));
  CHECK(watches(**kinds, volcano->type()));
  CHECK(watches(**kinds, kJobs));
  CHECK(volcano->type() != kJobs);
  CHECK(full_name(volcano->type()) == "jobs.batch.volcano.sh");
}

TEST_CASE("kind registry: two registries know different kinds, and what one hands out stays valid") {
  const auto first = KindRegistry::with(std::vector{read(row("example.com", "Train", "trains"))});
  const auto kinds = first.value()->described();
  const auto second = KindRegistry::with(std::vector{read(row("example.com", "Boat", "boats"))});
  CHECK(first.value()->find_described("example.com", "Train") == kinds.back().get());
  CHECK(first.value()->find_described("example.com", "Boat") == nullptr);
  CHECK(second.value()->find_described("example.com", "Train") == nullptr);
  CHECK_FALSE(KindRegistry::built_in()->queues("example.com", "boats"));
  CHECK(first.value()->watched().size() == KindRegistry::built_in()->watched().size() + 1);
}

TEST_CASE("kind registry: an own kind takes no name that is known") {
  json train = row("example.com", "Train", "trains");
  const KindDescriptionPtr known = read(train);
  CHECK(field_of_error({known}).empty());
  CHECK(field_of_error({known, known}).empty());  // the same file, read again
  json other = train;
  other["suspend"] = "spec.paused";
  CHECK(field_of_error({known, read(other)}) == "kinds[1].framework");
  other = row("example.com", "Boat", "trains");
  CHECK(field_of_error({known, read(other)}) == "kinds[1].resource");
  other["framework"] = "kubeflow.org/mpijob";
  CHECK(field_of_error({read(other)}) == "kinds[0].framework");
  CHECK(field_of_error({read(row("batch", "Task", "jobs"))}) == "kinds[0].resource");
  CHECK(field_of_error({read(row("apps", "Site", "deployments"))}) == "kinds[0].resource");
}

TEST_CASE("kind registry: a kind that is built in can be given again, as it is, and not otherwise") {
  const KindDescriptionPtr ray = KindRegistry::built_in()->described().front();
  CHECK(field_of_error({read(json::parse(ray->text))}).empty());
  json changed = json::parse(ray->text);
  changed["suspendedWhen"] = false;
  CHECK(field_of_error({read(changed)}) == "kinds[0].framework");
}

}  // namespace kind_registry_test
