#include "reconcilers/cluster_state.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

using namespace muster;
using nlohmann::json;

namespace {

json meta(const char* name, int version, const char* uid = "u") {
  return {{"namespace", "team-a"}, {"name", name}, {"uid", uid}, {"resourceVersion", std::to_string(version)}};
}

TypedObject job(const char* name, int version, const char* jobset = nullptr, int parallelism = 1) {
  json object = {{"metadata", meta(name, version)}, {"spec", {{"parallelism", parallelism}}}};
  if (jobset != nullptr) {
    object["metadata"]["ownerReferences"] = {{{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
                                              {"kind", "JobSet"},
                                              {"name", jobset},
                                              {"uid", "owner"},
                                              {"controller", true}}};
  }
  return read_object(kJobs, object);
}

TypedObject jobset(const char* name, int version, const char* subdomain = "") {
  json object = {{"metadata", meta(name, version)}, {"spec", {{"network", {{"subdomain", subdomain}}}}}};
  return read_object(kJobSets, object);
}

int parallelism_of(const ClusterState& state, const char* name) {
  const Job* found = state.job("team-a", name);
  return found == nullptr ? -1 : found->parallelism;
}

ObjectKey key(const char* name) {
  return {&kJobs, "team-a", name};
}

}  // namespace

TEST_CASE("cluster state: an older version never replaces a newer one") {
  ClusterState state;
  REQUIRE(state.put_watched(job("a", 5, nullptr, 5)));
  CHECK_FALSE(state.put(job("a", 4, nullptr, 4)));
  CHECK_FALSE(state.put_watched(job("a", 5, nullptr, 4)));
  CHECK(parallelism_of(state, "a") == 5);
  const auto change = state.put(job("a", 6, nullptr, 6));
  REQUIRE(change);
  REQUIRE(change->before);
  CHECK(meta_of(*change->before).resource_version == 5);
  CHECK(parallelism_of(state, "a") == 6);
}

TEST_CASE("cluster state: the late answer to a write does not bring back what the watch saw go") {
  ClusterState state;
  state.put_watched(job("a", 5));
  CHECK(state.remove_watched(job("a", 9)));
  CHECK_FALSE(state.put(job("a", 7)));
  CHECK(state.job("team-a", "a") == nullptr);
  // Made anew after the removal: the answer is ahead of the watch.
  CHECK(state.put(job("a", 12)));
  CHECK(state.job("team-a", "a") != nullptr);
}

TEST_CASE("cluster state: the removal of a namesake does not take the object that an answer brought") {
  ClusterState state;
  state.put_watched(job("a", 5));
  REQUIRE(state.put(job("a", 12, nullptr, 3)));
  CHECK_FALSE(state.remove_watched(job("a", 9)));
  CHECK(parallelism_of(state, "a") == 3);
}

TEST_CASE("cluster state: a list drops what it lacks but for what is younger") {
  ClusterState state;
  state.put_watched(job("listed", 5));
  state.put_watched(job("gone", 6));
  state.put(job("younger", 11));
  const auto dropped = state.drop_missing(kJobs, {key("listed")}, 10);
  REQUIRE(dropped.size() == 1);
  CHECK(meta_of(dropped[0]).name == "gone");
  CHECK(state.job("team-a", "listed") != nullptr);
  CHECK(state.job("team-a", "younger") != nullptr);
}

TEST_CASE("cluster state: Jobs are found by their JobSet as long as it controls them") {
  ClusterState state;
  state.put_watched(job("js-w-0", 1, "js"));
  state.put_watched(job("js-w-1", 2, "js"));
  state.put_watched(job("other", 3));
  REQUIRE(state.jobs_of_jobset("team-a", "js").size() == 2);
  CHECK(state.jobs_of_jobset("team-a", "js")[1]->meta.name == "js-w-1");
  state.put_watched(job("js-w-0", 4));  // orphaned
  CHECK(state.jobs_of_jobset("team-a", "js").size() == 1);
  state.remove_watched(job("js-w-1", 5));
  CHECK(state.jobs_of_jobset("team-a", "js").empty());
  CHECK(state.jobs_of_jobset("team-b", "js").empty());
}

TEST_CASE("cluster state: JobSets are found by the Service that they use") {
  ClusterState state;
  state.put_watched(jobset("a", 1, "shared"));
  state.put_watched(jobset("b", 2, "shared"));
  state.put_watched(jobset("c", 3));
  CHECK(state.jobsets_of_subdomain("team-a", "shared").size() == 2);
  REQUIRE(state.jobsets_of_subdomain("team-a", "c").size() == 1);
  CHECK(state.jobsets_of_subdomain("team-a", "c")[0]->meta.name == "c");
}

TEST_CASE("cluster state: a taken name is forgotten in time or when the object shows up") {
  ClusterState state;
  const auto until = MonotonicTime(std::chrono::seconds(30));
  state.note_taken(key("a"), until);
  CHECK(state.taken(key("a"), MonotonicTime{}));
  CHECK_FALSE(state.taken(key("a"), until));
  state.note_taken(key("b"), until);
  state.put_watched(job("b", 1));
  CHECK_FALSE(state.taken(key("b"), MonotonicTime{}));
}
