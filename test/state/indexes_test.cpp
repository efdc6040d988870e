// The indexes of several rooms, and what any index keeps to.
#include "state/index/indexes.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/cluster_queue.h"
#include "api/job.h"
#include "api/workload.h"
#include "state/cluster_state.h"
#include "test/support/versioned_objects.h"

namespace indexes_test {

using namespace muster;
using namespace muster::state;
using nlohmann::json;
using namespace muster::test;

namespace {

// Any kind by a label, and by each of its finalizers.
std::optional<NamespacedName> color_of(const TypedObject& object) {
  const std::string_view color = meta_of(object).label("color");
  if (color.empty()) return std::nullopt;
  return NamespacedName{"", color};
}
std::optional<NamespacedName> nth_finalizer_of(const Job& job, size_t nth) {
  if (nth >= job.meta.finalizers.size()) return std::nullopt;
  return NamespacedName{"", job.meta.finalizers[nth]};
}
constexpr Index<TypedObject> kByColor{.key = color_of};
constexpr Index<Job> kJobsByFinalizer{.nth_key = nth_finalizer_of};

TypedObject colored(const ResourceType& type, const char* name, int version, const char* color,
                    json finalizers = json::array()) {
  json object = {{"metadata", versioned_meta(name, version)}};
  object["metadata"]["labels"] = {{"color", color}};
  object["metadata"]["finalizers"] = std::move(finalizers);
  return read_object(type, object);
}

std::string paths_of(const std::vector<const TypedObject*>& objects) {
  std::string paths;
  for (const TypedObject* each : objects) paths += (paths.empty() ? "" : " ") + to_text(key_of(*each));
  return paths;
}

}  // namespace

TEST_CASE("indexes: objects of two kinds with one name are both found, also by an index that is made late") {
  ClusterState late, early;
  CHECK(early.by(kByColor, {"", "red"}).empty());
  for (ClusterState* state : {&late, &early}) {
    state->put_watched(colored(kJobSets, "a", 1, "red"));
    state->put_watched(colored(kJobs, "a", 2, "red"));
    state->put_watched(colored(kJobs, "b", 3, "blue"));
    state->put_watched(colored(kJobs, "b", 4, "red"));
    state->put_watched(colored(kJobs, "c", 5, "red"));
    state->remove_watched(colored(kJobs, "c", 6, "red"));
    CHECK(paths_of(state->by(kByColor, {"", "red"})) == "jobs/team-a/a jobs/team-a/b jobsets/team-a/a");
    CHECK(state->by(kByColor, {"", "blue"}).empty());
  }
}

TEST_CASE("indexes: an object is found by each of its keys, and once by a key that it has twice") {
  ClusterState state;
  const auto found = [&](const char* finalizer) { return state.by(kJobsByFinalizer, {"", finalizer}).size(); };
  CHECK(found("x") == 0);
  state.put_watched(colored(kJobs, "a", 1, "", {"x", "y", "x"}));
  state.put_watched(colored(kJobs, "b", 2, "", {"y"}));
  CHECK(found("x") == 1);
  CHECK(found("y") == 2);
  state.put_watched(colored(kJobs, "a", 3, "", {"y", "z"}));
  CHECK(found("x") == 0);
  CHECK(found("y") == 2);
  CHECK(found("z") == 1);
  state.remove_watched(colored(kJobs, "a", 4, "", {"y", "z"}));
  CHECK(found("y") == 1);
  CHECK(found("z") == 0);
}

TEST_CASE("indexes: after the state was created again they are the same") {
  ClusterState state;
  state.put_watched(colored(kJobs, "a", 1, "red"));
  state.put_watched(colored(kJobs, "b", 2, "red"));
  CHECK(state.by(kByColor, {"", "red"}).size() == 2);
  ObjectKey putting{&kJobs, "", ""};
  state.rebuild([](const TypedObject& object) { return meta_of(object).name != "b"; }, putting);
  CHECK(paths_of(state.by(kByColor, {"", "red"})) == "jobs/team-a/a");
}

TEST_CASE("indexes: Jobs are found by their JobSet as long as it controls them") {
  ClusterState state;
  state.put_watched(versioned_job("js-w-0", 1, "js"));
  state.put_watched(versioned_job("js-w-1", 2, "js"));
  state.put_watched(versioned_job("other", 3));
  REQUIRE(state.by(kJobsByJobSet, {"team-a", "js"}).size() == 2);
  CHECK(state.by(kJobsByJobSet, {"team-a", "js"})[1]->meta.name == "js-w-1");
  state.put_watched(versioned_job("js-w-0", 4));  // orphaned
  CHECK(state.by(kJobsByJobSet, {"team-a", "js"}).size() == 1);
  state.remove_watched(versioned_job("js-w-1", 5));
  CHECK(state.by(kJobsByJobSet, {"team-a", "js"}).empty());
  CHECK(state.by(kJobsByJobSet, {"team-b", "js"}).empty());
}

TEST_CASE("indexes: Workloads are found by what their newest version says") {
  ClusterState state;
  state.put_watched(versioned_workload("b", 1, {.owner = "u1"}));
  state.put_watched(versioned_workload("a", 2));
  CHECK(names_of(state.by(kWorkloadsByQueue, {"team-a", "q"})) == "a b");
  CHECK(names_of(state.by(kWorkloadsByOwner, {"", "u1"})) == "b");
  CHECK(names_of(state.by(kWorkloadsByClusterQueue, {"", "cq"})).empty());

  state.put_watched(versioned_workload("b", 3, {.cluster_queue = "cq", .owner = "u1"}));
  state.put_watched(versioned_workload("a", 4, {.queue = "other", .cluster_queue = "cq"}));
  CHECK(names_of(state.by(kWorkloadsByQueue, {"team-a", "q"})) == "b");
  CHECK(names_of(state.by(kWorkloadsByQueue, {"team-a", "other"})) == "a");
  CHECK(names_of(state.by(kWorkloadsByClusterQueue, {"", "cq"})) == "a b");
  // What is found is the newest version, also where nothing has moved.
  const auto change = state.put_watched(versioned_workload("b", 5, {.cluster_queue = "cq", .owner = "u1"}));
  REQUIRE(change);
  CHECK(state.by(kWorkloadsByClusterQueue, {"", "cq"}).at(1)->meta.resource_version == 5);
  CHECK(meta_of(*change->before).resource_version == 3);

  state.put_watched(versioned_workload("b", 6, {.cluster_queue = "cq2"}));
  CHECK(names_of(state.by(kWorkloadsByOwner, {"", "u1"})).empty());
  CHECK(names_of(state.by(kWorkloadsByClusterQueue, {"", "cq"})) == "a");
  CHECK(names_of(state.by(kWorkloadsByClusterQueue, {"", "cq2"})) == "b");
  state.remove_watched(versioned_workload("b", 7));
  CHECK(names_of(state.by(kWorkloadsByClusterQueue, {"", "cq2"})).empty());
  CHECK(names_of(state.by(kWorkloadsByQueue, {"team-a", "q"})).empty());
}

TEST_CASE("indexes: the Workloads of a namespace are those of all its queues and of no other") {
  ClusterState state;
  state.put_watched(versioned_workload("a", 1, {.queue = "second"}));
  state.put_watched(versioned_workload("b", 2, {.queue = "first"}));
  state.put_watched(versioned_workload("c", 3, {.queue = ""}));
  for (const char* other : {"team", "team-a-too", "zoo"}) {
    json object = {{"metadata", {{"namespace", other}, {"name", "x"}, {"resourceVersion", "4"}}},
                   {"spec", {{"queueName", "first"}}}};
    state.put_watched(read_object(kWorkloads, object));
  }
  std::string names;
  for (const WorkloadPtr& each : state.share_in(kWorkloadsByQueue, "team-a")) names += each->meta.name;
  CHECK(names == "cba");
  CHECK(state.share_in(kWorkloadsByQueue, "team-b").empty());
}

TEST_CASE("indexes: ClusterQueues are found by the flavors and checks that they name now") {
  ClusterState state;
  const auto queue = [](int version, const char* flavor, const char* check) {
    return read_object(kClusterQueues,
                       {{"metadata", {{"name", "cq"}, {"resourceVersion", std::to_string(version)}}},
                        {"spec",
                         {{"resourceGroups", json::array({{{"coveredResources", json::array({"cpu"})},
                                                           {"flavors", json::array({{{"name", flavor}}})}}})},
                          {"admissionChecksStrategy", {{"admissionChecks", json::array({{{"name", check}}})}}}}}});
  };
  state.put_watched(queue(1, "f1", "c1"));
  CHECK(state.by(kClusterQueuesByFlavor, {"", "f1"}).size() == 1);
  CHECK(state.by(kClusterQueuesByCheck, {"", "c1"}).size() == 1);
  state.put_watched(queue(2, "f2", "c2"));
  CHECK(state.by(kClusterQueuesByFlavor, {"", "f1"}).empty());
  CHECK(state.by(kClusterQueuesByCheck, {"", "c1"}).empty());
  REQUIRE(state.by(kClusterQueuesByFlavor, {"", "f2"}).size() == 1);
  CHECK(state.by(kClusterQueuesByFlavor, {"", "f2"})[0]->meta.resource_version == 2);
  state.remove_watched(queue(3, "f2", "c2"));
  CHECK(state.by(kClusterQueuesByCheck, {"", "c2"}).empty());
}

}  // namespace indexes_test
