// Exclusive placement: what a child Job's pods ask of the scheduler.
#include "reconcilers/jobset/jobset_placement.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "base/encoding.h"
#include "reconcilers/jobset/jobset_child.h"
#include "test/reconcilers/jobset/jobset_cluster.h"

namespace jobset_placement_test {

using namespace muster;
using namespace muster::reconcilers;
using namespace muster::test;

namespace {

const json kRack = {{kExclusiveTopologyAnnotation, "cloud/rack"}};

json pods_of(const json& object, const ChildJobOptions& options = {}) {
  const JobSetPtr jobset = read_jobset(object);
  return ChildJobMaker(*jobset, jobset->replicated_jobs.at(1), options).make(1)["spec"]["template"];
}

json terms(const json& pod_template, const char* kind) {
  return array_at(pod_template, {"spec", "affinity", kind, "requiredDuringSchedulingIgnoredDuringExecution"});
}

}  // namespace

TEST_CASE("jobset placement: the pods of a Job stay together and away from those of others") {
  json object = train_jobset();
  object["metadata"]["annotations"] = kRack;
  const json pods = pods_of(object);
  const std::string key = sha1_hex("team-a/train-workers-1");
  CHECK(pods["metadata"]["annotations"][std::string(kExclusiveTopologyAnnotation)] == "cloud/rack");
  CHECK(pods["metadata"]["labels"][std::string(kJobSetPriorityLabel)] == "0");
  const json together = {
      {"topologyKey", "cloud/rack"},
      {"labelSelector",
       {{"matchExpressions", json::array({{{"key", kJobKeyKey}, {"operator", "In"}, {"values", {key}}},
                                          {{"key", kRestartAttemptLabel}, {"operator", "In"}, {"values", {"0"}}}})}}}};
  CHECK(terms(pods, "podAffinity") == json::array({together}));
  const json apart = {
      {"topologyKey", "cloud/rack"},
      {"namespaceSelector", json::object()},
      {"labelSelector",
       {{"matchExpressions", json::array({{{"key", kJobKeyKey}, {"operator", "Exists"}},
                                          {{"key", kJobKeyKey}, {"operator", "NotIn"}, {"values", {key}}},
                                          {{"key", kJobSetPriorityLabel}, {"operator", "In"}, {"values", {"0"}}}})}}}};
  CHECK(terms(pods, "podAntiAffinity") == json::array({apart}));
  // muster gives no node away.
  CHECK_FALSE(pods["spec"].contains("nodeSelector"));
  CHECK_FALSE(pods["spec"].contains("schedulingGates"));
}

TEST_CASE("jobset placement: where the annotation is and what turns it off") {
  struct Row {
    const char* name;
    json patch;
    bool placed;
  };
  json both = kRack;
  both[std::string(kNodeSelectorStrategyAnnotation)] = "true";
  const Row rows[] = {
      {"nowhere", json::object(), false},
      {"on the JobSet", {{"metadata", {{"annotations", kRack}}}}, true},
      {"with node selectors instead", {{"metadata", {{"annotations", both}}}}, false},
      {"node selectors alone mean nothing",
       {{"metadata", {{"annotations", {{kNodeSelectorStrategyAnnotation, "true"}}}}}},
       false},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    json object = train_jobset();
    object.merge_patch(row.patch);
    CHECK(terms(pods_of(object), "podAffinity").size() == (row.placed ? 1 : 0));
    CHECK(terms(pods_of(object), "podAntiAffinity").size() == (row.placed ? 1 : 0));
  }
  json of_one = train_jobset();
  of_one["spec"]["replicatedJobs"][1]["template"]["metadata"] = {{"annotations", kRack}};
  CHECK(terms(pods_of(of_one), "podAffinity").size() == 1);
  const JobSetPtr jobset = read_jobset(of_one);
  CHECK(terms(ChildJobMaker(*jobset, jobset->replicated_jobs[0]).make(0)["spec"]["template"], "podAffinity").empty());
  json of_pods = train_jobset();
  of_pods["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["metadata"] = {{"annotations", kRack}};
  CHECK(terms(pods_of(of_pods), "podAffinity").size() == 1);
}

TEST_CASE("jobset placement: node selectors name the Job where nodes were labelled beforehand") {
  json object = train_jobset();
  object["metadata"]["annotations"] = kRack;
  object["metadata"]["annotations"][std::string(kNodeSelectorStrategyAnnotation)] = "true";
  const json pods = pods_of(object);
  CHECK(pods["spec"]["nodeSelector"] == json{{"alpha.jobset.sigs.k8s.io/namespaced-job", "team-a_train-workers-1"}});
  CHECK(pods["spec"]["tolerations"] ==
        json::array(
            {{{"key", "alpha.jobset.sigs.k8s.io/no-schedule"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}}));
  CHECK_FALSE(pods["spec"].contains("affinity"));
  CHECK_FALSE(pods["metadata"]["labels"].contains(std::string(kJobSetPriorityLabel)));
}

TEST_CASE("jobset placement: what the template asks for stays") {
  json object = train_jobset();
  object["metadata"]["annotations"] = kRack;
  const json theirs = {{"topologyKey", "zone"}, {"labelSelector", json::object()}};
  object["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]["affinity"] = {
      {"nodeAffinity", {{"x", 1}}},
      {"podAffinity", {{"requiredDuringSchedulingIgnoredDuringExecution", json::array({theirs})}}}};
  const json pods = pods_of(object);
  CHECK(pods["spec"]["affinity"]["nodeAffinity"] == json{{"x", 1}});
  REQUIRE(terms(pods, "podAffinity").size() == 2);
  CHECK(terms(pods, "podAffinity")[0] == theirs);
}

TEST_CASE("jobset placement: pods of a restarted Job are not held where the old ones end") {
  json object = train_jobset();
  object["metadata"]["annotations"] = kRack;
  object["status"] = {{"restarts", 2},
                      {"replicatedJobsStatus", json::array({{{"name", "workers"}, {"jobRestarts", {0, 3}}}})}};
  const json pods = pods_of(object, {.labels_job_restarts = true});
  const json own = terms(pods, "podAffinity").at(0)["labelSelector"]["matchExpressions"];
  REQUIRE(own.size() == 3);
  CHECK(own[1]["values"] == json{"2"});
  CHECK(own[2] == json{{"key", kJobRestartAttemptKey}, {"operator", "In"}, {"values", {"3"}}});
}

TEST_CASE("jobset placement: the priority is that of the pods' class") {
  struct Row {
    const char* name;
    const char* of_pods;
    const char* expected;
  };
  const Row rows[] = {{"their class", "high", "100"},
                      {"below zero", "low", "n7"},
                      {"the default class", "", "5"},
                      {"a class that is not there", "gone", "0"}};
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    json object = train_jobset();
    object["metadata"]["annotations"] = kRack;
    if (*row.of_pods != '\0')
      object["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["priorityClassName"] = row.of_pods;
    JobSetCluster cluster(object);
    const auto put = [&](const char* name, int value, bool is_default) {
      cluster.state.put_watched(read_object(
          kPriorityClasses,
          {{"metadata", {{"name", name}, {"resourceVersion", "9"}}}, {"value", value}, {"globalDefault", is_default}}));
    };
    put("high", 100, false);
    put("low", -7, false);
    put("usual", 5, true);
    cluster.settle();
    const json pods = cluster.get(kJobs, "train-driver-0")["spec"]["template"];
    CHECK(pods["metadata"]["labels"][std::string(kJobSetPriorityLabel)] == row.expected);
    CHECK(terms(pods, "podAntiAffinity")[0]["labelSelector"]["matchExpressions"][2]["values"] == json{row.expected});
  }
}

TEST_CASE("jobset placement: a template of any shape is left as it is") {
  for (const char* text : {"null", "3", "{}", R"({"spec":{}})", R"({"metadata":{"annotations":"x"},"spec":{}})"}) {
    json pod_template = json::parse(text);
    const json before = pod_template;
    place_exclusively(0, pod_template);
    CHECK(pod_template == before);
  }
}

}  // namespace jobset_placement_test
