#include "state/cluster_state.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "api/job.h"
#include "api/jobset.h"
#include "api/workload.h"
#include "kinds/described_job.h"
#include "kinds/kind_description.h"

namespace cluster_state_test {

using namespace muster;
using namespace muster::state;
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

struct Placed {
  const char* queue = "q";
  const char* cluster_queue = nullptr;  // that it has quota of
  const char* owner = nullptr;          // its uid
};

TypedObject workload(const char* name, int version, Placed placed = {}) {
  json object = {{"metadata", meta(name, version)}, {"spec", {{"queueName", placed.queue}}}};
  if (placed.cluster_queue != nullptr) object["status"]["admission"]["clusterQueue"] = placed.cluster_queue;
  if (placed.owner != nullptr) {
    object["metadata"]["ownerReferences"] = {
        {{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "j"}, {"uid", placed.owner}, {"controller", true}}};
  }
  return read_object(kWorkloads, object);
}

std::string names_of(const std::vector<const Workload*>& workloads) {
  std::string names;
  for (const Workload* each : workloads) names += (names.empty() ? "" : " ") + each->meta.name;
  return names;
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
  // Made again after the removal: the answer is ahead of the watch.
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

TEST_CASE("cluster state: jobs of any kind are found by the Workload that they name") {
  ClusterState state;
  const auto naming = [](TypedObject (*make)(int, json)) {
    return [make](int version, const char* annotated, const char* labelled) {
      json metadata = meta("job", version);
      if (annotated != nullptr) metadata["annotations"] = {{"kueue.x-k8s.io/prebuilt-workload-name", annotated}};
      if (labelled != nullptr) metadata["labels"] = {{"kueue.x-k8s.io/prebuilt-workload-name", labelled}};
      return make(version, {{"metadata", metadata}});
    };
  };
  const auto job = naming([](int, json object) { return read_object(kJobs, object); });
  const auto jobset = naming([](int, json object) { return read_object(kJobSets, object); });
  const auto workload = naming([](int, json object) { return read_object(kWorkloads, object); });
  state.put_watched(job(1, "one", nullptr));
  state.put_watched(jobset(2, "one", "two"));
  state.put_watched(workload(3, "one", nullptr));
  CHECK(state.jobs_naming_workload("team-a", "one").size() == 2);
  REQUIRE(state.jobs_naming_workload("team-a", "two").size() == 1);
  CHECK(state.jobs_naming_workload("team-a", "two")[0] == ObjectKey{&kJobSets, "team-a", "job"});
  CHECK(state.jobs_naming_workload("team-b", "one").empty());
  // The newest version counts, and what has gone names nothing.
  state.put_watched(job(4, nullptr, "two"));
  CHECK(state.jobs_naming_workload("team-a", "one").size() == 1);
  CHECK(state.jobs_naming_workload("team-a", "two").size() == 2);
  state.remove_watched(jobset(5, "one", "two"));
  CHECK(state.jobs_naming_workload("team-a", "one").empty());
  CHECK(state.jobs_naming_workload("team-a", "two").size() == 1);
}

TEST_CASE("cluster state: described jobs are found by their kind in a namespace") {
  const ResourceType& pytorch = []() -> const ResourceType& {
    for (const KindDescriptionPtr& kind : described_kinds()) {
      if (kind->type().kind == "PyTorchJob") return kind->type();
    }
    throw std::runtime_error("there is no PyTorchJob");
  }();
  ClusterState state;
  const auto job = [&](const char* ns, const char* name, int version) {
    json metadata = meta(name, version);
    metadata["namespace"] = ns;
    return read_object(pytorch, {{"metadata", metadata}});
  };
  state.put_watched(job("team-a", "b", 1));
  state.put_watched(job("team-a", "a", 2));
  state.put_watched(job("team-b", "c", 3));
  const auto found = state.described_jobs_in(pytorch, "team-a");
  REQUIRE(found.size() == 2);
  CHECK(found[0]->meta.name == "a");
  state.remove_watched(job("team-a", "a", 4));
  CHECK(state.described_jobs_in(pytorch, "team-a").size() == 1);
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

TEST_CASE("cluster state: Workloads are found by what their newest version says") {
  ClusterState state;
  state.put_watched(workload("b", 1, {.owner = "u1"}));
  state.put_watched(workload("a", 2));
  CHECK(names_of(state.workloads_in_queue("team-a", "q")) == "a b");
  CHECK(names_of(state.workloads_of_owner("u1")) == "b");
  CHECK(names_of(state.workloads_reserving("cq")).empty());

  state.put_watched(workload("b", 3, {.cluster_queue = "cq", .owner = "u1"}));
  state.put_watched(workload("a", 4, {.queue = "other", .cluster_queue = "cq"}));
  CHECK(names_of(state.workloads_in_queue("team-a", "q")) == "b");
  CHECK(names_of(state.workloads_in_queue("team-a", "other")) == "a");
  CHECK(names_of(state.workloads_reserving("cq")) == "a b");
  // What is found is the newest version, also where nothing has moved.
  const auto change = state.put_watched(workload("b", 5, {.cluster_queue = "cq", .owner = "u1"}));
  REQUIRE(change);
  CHECK(state.workloads_reserving("cq").at(1)->meta.resource_version == 5);
  CHECK(meta_of(*change->before).resource_version == 3);

  state.put_watched(workload("b", 6, {.cluster_queue = "cq2"}));
  CHECK(names_of(state.workloads_of_owner("u1")).empty());
  CHECK(names_of(state.workloads_reserving("cq")) == "a");
  CHECK(names_of(state.workloads_reserving("cq2")) == "b");
  state.remove_watched(workload("b", 7));
  CHECK(names_of(state.workloads_reserving("cq2")).empty());
  CHECK(names_of(state.workloads_in_queue("team-a", "q")).empty());
}

TEST_CASE("cluster state: a Workload is found by its uid and the victims of a preemptor while they hold quota") {
  ClusterState state;
  const auto put = [&](const char* name, int version, const char* uid, const char* evicted, const char* reserved) {
    json object = {{"metadata", meta(name, version, uid)}, {"spec", {{"queueName", "q"}}}};
    const auto condition = [](const char* type, const char* status) {
      return json{{"type", type},
                  {"status", status},
                  {"reason", "r"},
                  {"message",
                   "Preempted to accommodate a workload (UID: high-uid, JobUID: j) due to prioritization in the "
                   "ClusterQueue; preemptor path: /q; preemptee path: /q"}};
    };
    object["status"]["conditions"] = {condition("Preempted", evicted), condition("Evicted", evicted),
                                      condition("QuotaReserved", reserved)};
    state.put_watched(read_object(kWorkloads, object));
  };
  put("b", 1, "b-uid", "False", "True");
  put("a", 2, "a-uid", "True", "True");
  CHECK(names_of(state.victims_of("high-uid")) == "a");
  put("b", 3, "b-uid", "True", "True");
  CHECK(names_of(state.victims_of("high-uid")) == "a b");
  CHECK(state.victims_of("b-uid").empty());
  put("a", 4, "a-uid", "True", "False");
  CHECK(names_of(state.victims_of("high-uid")) == "b");
  state.remove({&kWorkloads, "team-a", "b"});
  CHECK(state.victims_of("high-uid").empty());

  REQUIRE(state.workload_with_uid("a-uid") != nullptr);
  CHECK(state.workload_with_uid("a-uid")->meta.name == "a");
  CHECK(state.workload_with_uid("b-uid") == nullptr);
  // Another one of the same name.
  put("a", 5, "other-uid", "False", "False");
  CHECK(state.workload_with_uid("a-uid") == nullptr);
  CHECK(state.workload_with_uid("other-uid") != nullptr);
}

TEST_CASE("cluster state: what many are asked for comes in the order of their paths") {
  ClusterState state;
  for (const char* name : {"c", "a", "b"}) state.put_watched(workload(name, *name));
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

TEST_CASE("cluster state: the Workloads of a namespace are those of all its queues and of no other") {
  ClusterState state;
  state.put_watched(workload("a", 1, {.queue = "second"}));
  state.put_watched(workload("b", 2, {.queue = "first"}));
  state.put_watched(workload("c", 3, {.queue = ""}));
  for (const char* other : {"team", "team-a-too", "zoo"}) {
    json object = {{"metadata", {{"namespace", other}, {"name", "x"}, {"resourceVersion", "4"}}},
                   {"spec", {{"queueName", "first"}}}};
    state.put_watched(read_object(kWorkloads, object));
  }
  std::string names;
  for (const WorkloadPtr& each : state.workloads_in("team-a")) names += each->meta.name;
  CHECK(names == "cba");
  CHECK(state.workloads_in("team-b").empty());
}

TEST_CASE("cluster state: ClusterQueues are found by the flavors and checks that they name now") {
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
  CHECK(state.cluster_queues_of_flavor("f1").size() == 1);
  CHECK(state.cluster_queues_of_check("c1").size() == 1);
  state.put_watched(queue(2, "f2", "c2"));
  CHECK(state.cluster_queues_of_flavor("f1").empty());
  CHECK(state.cluster_queues_of_check("c1").empty());
  REQUIRE(state.cluster_queues_of_flavor("f2").size() == 1);
  CHECK(state.cluster_queues_of_flavor("f2")[0]->meta.resource_version == 2);
  state.remove_watched(queue(3, "f2", "c2"));
  CHECK(state.cluster_queues_of_check("c2").empty());
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

}  // namespace cluster_state_test
