#include "state/cluster_state.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "api/job.h"
#include "api/jobset.h"
#include "api/workload.h"
#include "explain/workload_indexes.h"
#include "kinds/described_job.h"
#include "kinds/kind_description.h"
#include "reconcilers/job/job_indexes.h"
#include "reconcilers/jobset/jobset_indexes.h"
#include "state/index/indexes.h"
#include "test/support/versioned_objects.h"

namespace cluster_state_test {

using namespace muster;
using namespace muster::state;
using nlohmann::json;
using namespace muster::test;

namespace {

int parallelism_of(const ClusterState& state, const char* name) {
  const Job* found = state.find<Job>("team-a", name);
  return found == nullptr ? -1 : found->parallelism;
}

ObjectKey key(const char* name) {
  return {&kJobs, "team-a", name};
}

}  // namespace

TEST_CASE("cluster state: an older version never replaces a newer one") {
  ClusterState state;
  REQUIRE(state.put_watched(versioned_job("a", 5, nullptr, 5)));
  CHECK_FALSE(state.put(versioned_job("a", 4, nullptr, 4)));
  CHECK_FALSE(state.put_watched(versioned_job("a", 5, nullptr, 4)));
  CHECK(parallelism_of(state, "a") == 5);
  const auto change = state.put(versioned_job("a", 6, nullptr, 6));
  REQUIRE(change);
  REQUIRE(change->before);
  CHECK(meta_of(*change->before).resource_version == 5);
  CHECK(parallelism_of(state, "a") == 6);
}

TEST_CASE("cluster state: the late answer to a write does not bring back what the watch saw go") {
  ClusterState state;
  state.put_watched(versioned_job("a", 5));
  CHECK(state.remove_watched(versioned_job("a", 9)));
  CHECK_FALSE(state.put(versioned_job("a", 7)));
  CHECK(state.find<Job>("team-a", "a") == nullptr);
  // Made again after the removal: the answer is ahead of the watch.
  CHECK(state.put(versioned_job("a", 12)));
  CHECK(state.find<Job>("team-a", "a") != nullptr);
}

TEST_CASE("cluster state: the removal of a namesake does not take the object that an answer brought") {
  ClusterState state;
  state.put_watched(versioned_job("a", 5));
  REQUIRE(state.put(versioned_job("a", 12, nullptr, 3)));
  CHECK_FALSE(state.remove_watched(versioned_job("a", 9)));
  CHECK(parallelism_of(state, "a") == 3);
}

TEST_CASE("cluster state: a list drops what it lacks but for what is younger") {
  ClusterState state;
  state.put_watched(versioned_job("listed", 5));
  state.put_watched(versioned_job("gone", 6));
  state.put(versioned_job("younger", 11));
  const auto dropped = state.drop_missing(kJobs, {key("listed")}, 10);
  REQUIRE(dropped.size() == 1);
  CHECK(meta_of(dropped[0]).name == "gone");
  CHECK(state.find<Job>("team-a", "listed") != nullptr);
  CHECK(state.find<Job>("team-a", "younger") != nullptr);
}

TEST_CASE("cluster state: what many are asked for comes in the order of their paths") {
  ClusterState state;
  for (const char* name : {"c", "a", "b"}) state.put_watched(versioned_workload(name, *name));
  json elsewhere = {{"metadata", {{"namespace", "a"}, {"name", "z"}, {"resourceVersion", "200"}}}};
  state.put_watched(read_object(kWorkloads, elsewhere));
  std::string paths;
  state.for_each_of(kWorkloads, [&](const TypedObject& object) { paths += path_of(meta_of(object)) + " "; });
  CHECK(paths == "a/z team-a/a team-a/b team-a/c ");
  const auto not_b = [](const TypedObject& object) { return meta_of(object).name != "b"; };
  paths.clear();
  for (const TypedObject* object : state.select(kWorkloads, not_b)) paths += path_of(meta_of(*object)) + " ";
  CHECK(paths == "a/z team-a/a team-a/c ");
}

TEST_CASE("cluster state: a name conflict is forgotten in time or when the object shows up") {
  ClusterState state;
  const auto until = MonotonicTime(std::chrono::seconds(30));
  state.writes().note_name_conflict(key("a"), until);
  CHECK(state.writes().has_name_conflict(key("a"), MonotonicTime{}));
  CHECK_FALSE(state.writes().has_name_conflict(key("a"), until));
  state.writes().note_name_conflict(key("b"), until);
  state.put_watched(versioned_job("b", 1));
  CHECK_FALSE(state.writes().has_name_conflict(key("b"), MonotonicTime{}));
}

}  // namespace cluster_state_test
