#include "api/review/cluster_view.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace cluster_view_test {

using namespace muster;
using nlohmann::json;

TEST_CASE("cluster view: facts appear, change and disappear with their objects") {
  ClusterView view;
  CHECK(view.namespace_labels("team-a") == nullptr);
  view.put(json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"team-a","labels":{"x":"y"}}})"));
  REQUIRE(view.namespace_labels("team-a") != nullptr);
  CHECK(view.namespace_labels("team-a")->at("x") == "y");

  const json queue = json::parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
    "metadata":{"namespace":"team-a","name":"default"},"spec":{"clusterQueue":"cq"}})");
  view.put(queue);
  CHECK(view.local_queue("team-a", "default")->cluster_queue == "cq");
  CHECK(view.local_queue("team-b", "default") == nullptr);
  CHECK(view.namespaces_with_default_queue() == std::vector<std::string>{"team-a"});
  view.remove("kueue.x-k8s.io/v1beta2", "LocalQueue", "team-a", "default");
  CHECK(view.local_queue("team-a", "default") == nullptr);
  CHECK(view.namespaces_with_default_queue().empty());

  view.put(json::parse(
      R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"WorkloadPriorityClass","metadata":{"name":"default"}})"));
  CHECK(view.has_workload_priority_class("default"));
}

TEST_CASE("cluster view: a LocalQueue uses MultiKueue when a check of its ClusterQueue does") {
  ClusterView view;
  view.put(json::parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"LocalQueue",
    "metadata":{"namespace":"a","name":"q"},"spec":{"clusterQueue":"cq"}})"));
  CHECK_FALSE(view.uses_multikueue("a", "q"));
  view.put(json::parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"AdmissionCheck",
    "metadata":{"name":"mk"},"spec":{"controllerName":"kueue.x-k8s.io/multikueue"}})"));
  for (const char* spec :
       {R"({"admissionChecks":["mk"]})", R"({"admissionChecksStrategy":{"admissionChecks":[{"name":"mk"}]}})"}) {
    json queue =
        json::parse(R"({"apiVersion":"kueue.x-k8s.io/v1beta2","kind":"ClusterQueue","metadata":{"name":"cq"}})");
    queue["spec"] = json::parse(spec);
    view.put(queue);
    CHECK(view.uses_multikueue("a", "q"));
    CHECK_FALSE(view.uses_multikueue("a", "other"));
  }
}

TEST_CASE("cluster view: owners are known by group, kind, namespace and name") {
  ClusterView view;
  view.put(json::parse(R"({"apiVersion":"jobset.x-k8s.io/v1alpha2","kind":"JobSet","metadata":{
    "namespace":"a","name":"train","uid":"u","labels":{"kueue.x-k8s.io/queue-name":"q"},
    "ownerReferences":[{"apiVersion":"x/v1","kind":"K","name":"n","uid":"w","controller":true},{"kind":"Other"}]}})"));
  const OwnerFacts* owner = view.owner("jobset.x-k8s.io", "JobSet", "a", "train");
  REQUIRE(owner != nullptr);
  CHECK(owner->uid == "u");
  CHECK(owner->queue_name == "q");
  REQUIRE(owner->controller.has_value());
  CHECK(owner->controller->uid == "w");
  CHECK(view.owner("jobset.x-k8s.io", "JobSet", "b", "train") == nullptr);
  view.remove("jobset.x-k8s.io/v1alpha2", "JobSet", "a", "train");
  CHECK(view.owner("jobset.x-k8s.io", "JobSet", "a", "train") == nullptr);
}

TEST_CASE("cluster view: the container minimum follows the LimitRanges of the namespace") {
  ClusterView view;
  view.put(json::parse(R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"namespace":"a","name":"one"},
    "spec":{"limits":[{"type":"Pod","min":{"cpu":"9"}},{"type":"Container","min":{"cpu":"50m","memory":"32Mi"}}]}})"));
  CHECK(view.container_minimum("a").cpu == "50m");
  CHECK(view.container_minimum("a").memory == "32Mi");
  CHECK(view.container_minimum("b").cpu.empty());
  // The last one by name counts, each for what it sets.
  view.put(json::parse(R"({"apiVersion":"v1","kind":"LimitRange","metadata":{"namespace":"a","name":"two"},
    "spec":{"limits":[{"type":"Container","min":{"cpu":"70m"}}]}})"));
  CHECK(view.container_minimum("a").cpu == "70m");
  CHECK(view.container_minimum("a").memory == "32Mi");
  view.remove("v1", "LimitRange", "a", "two");
  CHECK(view.container_minimum("a").cpu == "50m");
  view.remove("v1", "LimitRange", "a", "one");
  CHECK(view.container_minimum("a").cpu.empty());
}

TEST_CASE("cluster view: a copy does not see what happens to the original") {
  ClusterView original;
  original.put(json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":{"v":"1"}}})"));
  const ClusterView published = original;
  original.put(json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","labels":{"v":"2"}}})"));
  original.put(json::parse(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"b"}})"));
  CHECK(published.namespace_labels("a")->at("v") == "1");
  CHECK(published.namespace_labels("b") == nullptr);
  CHECK(original.namespace_labels("a")->at("v") == "2");
}

}  // namespace cluster_view_test
