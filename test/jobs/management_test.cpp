#include "jobs/management.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace management_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;

namespace {

json owned(const char* uid, std::optional<json> owner, const char* queue = nullptr) {
  json object = {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                 {"kind", "JobSet"},
                 {"metadata", {{"name", uid}, {"namespace", "team-a"}, {"uid", uid}}}};
  if (queue) object["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue;
  if (owner) object["metadata"]["ownerReferences"] = json::array({*owner});
  return object;
}

json reference_to(const char* name, const char* api_version = "jobset.x-k8s.io/v1alpha2", const char* kind = "JobSet") {
  return {{"apiVersion", api_version}, {"kind", kind}, {"name", name}, {"uid", name}, {"controller", true}};
}

// A Job under review, its settings and its cluster.
struct World {
  AdmissionRequest request;
  ClusterView view;
  RuleSettings settings;

  explicit World(json object) {
    request.group = "batch";
    request.kind = "Job";
    request.namespace_ = "team-a";
    request.object = std::move(object);
  }
  Review review() const { return {request, view, settings}; }
};

}  // namespace

TEST_CASE("a kind under review counts only when its integration is enabled") {
  World world(json::object());
  CHECK(enabled_kind(world.review()) == &batch_job);
  world.settings.frameworks = {"jobset.x-k8s.io/jobset"};
  CHECK(enabled_kind(world.review()) == nullptr);
  world.request.kind = "CronJob";
  CHECK(enabled_kind(world.review()) == nullptr);
}

TEST_CASE("the namespace is the request's and else the object's") {
  World world(json{{"metadata", {{"namespace", "team-b"}}}});
  CHECK(namespace_of(world.request) == "team-a");
  world.request.namespace_.clear();
  CHECK(namespace_of(world.request) == "team-b");
}

TEST_CASE("a reference that is no controller makes no ancestor") {
  json parent = reference_to("parent");
  parent["controller"] = false;
  World world(owned("job", parent, "research"));
  world.view.put(owned("parent", std::nullopt, "research"));
  const MaybeAncestor managed = managed_ancestor(world.review(), world.request.object);
  REQUIRE(managed.ok());
  CHECK_FALSE(managed->has_value());
}

TEST_CASE("the search passes through an owner of an unknown kind that the view has") {
  World world(owned("job", reference_to("middle", "example.com/v1", "Pipeline"), "research"));
  json middle = owned("middle", reference_to("top"));
  middle["apiVersion"] = "example.com/v1";
  middle["kind"] = "Pipeline";
  world.view.put(middle);
  world.view.put(owned("top", std::nullopt, "research"));
  const MaybeAncestor managed = managed_ancestor(world.review(), world.request.object);
  REQUIRE(managed.ok());
  REQUIRE(managed->has_value());
  CHECK((*managed)->uid == "top");
}

TEST_CASE("a managed parent counts although the search ends at a namesake above it") {
  World world(owned("job", reference_to("parent"), "research"));
  json parent = owned("parent", reference_to("top"), "research");
  world.view.put(parent);
  json namesake = owned("top", std::nullopt);
  namesake["metadata"]["uid"] = "another";
  world.view.put(namesake);
  const MaybeAncestor managed = managed_ancestor(world.review(), world.request.object);
  REQUIRE(managed.ok());
  REQUIRE(managed->has_value());
  CHECK((*managed)->uid == "parent");
}

TEST_CASE("a Job is no ancestor and hides what is above it: its controller makes no jobs") {
  World world(owned("job", reference_to("anchor", "batch/v1", "Job"), "research"));
  json anchor = owned("anchor", reference_to("top"), "research");
  anchor["apiVersion"] = "batch/v1";
  anchor["kind"] = "Job";
  world.view.put(anchor);
  world.view.put(owned("top", std::nullopt, "research"));
  const MaybeAncestor managed = managed_ancestor(world.review(), world.request.object);
  REQUIRE(managed.ok());
  CHECK_FALSE(managed->has_value());
  const auto queued = is_queued(world.review(), world.request.object);
  REQUIRE(queued.ok());
  CHECK(*queued);
}

namespace {

json workload_of(const char* ns, const char* admitted) {
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", "Workload"},
          {"metadata",
           {{"name", "wl"}, {"namespace", ns}, {"ownerReferences", {reference_to("ray", "ray.io/v1", "RayJob")}}}},
          {"status", {{"conditions", {{{"type", "Admitted"}, {"status", admitted}, {"reason", "R"}}}}}}};
}

}  // namespace

TEST_CASE("an object of an external framework is an ancestor while its Workload in the namespace is admitted") {
  struct Row {
    const char* what;
    const char* framework;
    json workload;
    bool managed;
  };
  const Row rows[] = {
      {"admitted", "RayJob.v1.ray.io", workload_of("team-a", "True"), true},
      {"not admitted", "RayJob.v1.ray.io", workload_of("team-a", "False"), false},
      {"another version", "RayJob.v1alpha1.ray.io", workload_of("team-a", "True"), false},
      {"another namespace", "RayJob.v1.ray.io", workload_of("team-b", "True"), false},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    World world(owned("job", reference_to("ray", "ray.io/v1", "RayJob"), "research"));
    world.settings.external_frameworks = {row.framework};
    world.view.put(row.workload);
    const MaybeAncestor managed = managed_ancestor(world.review(), world.request.object);
    REQUIRE(managed.ok());
    REQUIRE(managed->has_value() == row.managed);
    if (row.managed) CHECK((*managed)->external);
    // Its uid in a reference with another name proves nothing.
    world.request.object["metadata"]["ownerReferences"][0]["name"] = "other";
    const MaybeAncestor other = managed_ancestor(world.review(), world.request.object);
    REQUIRE(other.ok());
    CHECK_FALSE(other->has_value());
  }
}

TEST_CASE("a kind counts only in its own group") {
  World world(owned("job", reference_to("parent", "example.com/v1", "JobSet"), "research"));
  world.view.put(owned("parent", std::nullopt, "research"));
  const MaybeAncestor managed = managed_ancestor(world.review(), world.request.object);
  REQUIRE(managed.ok());
  CHECK_FALSE(managed->has_value());
}

TEST_CASE("owners in another namespace are not looked at") {
  World world(owned("job", reference_to("parent"), "research"));
  json elsewhere = owned("parent", std::nullopt, "research");
  elsewhere["metadata"]["namespace"] = "team-b";
  world.view.put(elsewhere);
  const MaybeAncestor managed = managed_ancestor(world.review(), world.request.object);
  CHECK_FALSE(managed.ok());
  if (!managed.ok()) {
    CHECK(managed.error().message == "jobsets.jobset.x-k8s.io \"parent\" not found");
    CHECK_FALSE(managed.error().retry);
  }
}

TEST_CASE("a namespace that is not known is an error that passes") {
  World world(json::object());
  world.settings.managed_jobs_namespace_selector =
      LabelSelector::parse(json{{"matchLabels", {{"managed", "yes"}}}}).value();
  const auto unknown = in_managed_namespace(world.review());
  CHECK_FALSE(unknown.ok());
  if (!unknown.ok()) CHECK(unknown.error().retry);

  world.view.put(json{{"apiVersion", "v1"},
                      {"kind", "Namespace"},
                      {"metadata", {{"name", "team-a"}, {"labels", {{"managed", "yes"}}}}}});
  const auto known = in_managed_namespace(world.review());
  REQUIRE(known.ok());
  CHECK(*known);
}

}  // namespace management_test
