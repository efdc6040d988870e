#include "jobs/jobset/jobset_text.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace jobset_text_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;

TEST_CASE("replicated jobs are printed in the order of the API and without what is empty") {
  struct Row {
    std::string name;
    const char* list;
    const char* text;
  };
  const Row rows[] = {
      {"none", "[]", "[]"},
      {"what the API always prints", "[{}]",
       R"([{"name":"","template":{"metadata":{},"spec":{"template":{"metadata":{},"spec":{"containers":null}}}}}])"},
      {"name first and replicas behind the template",
       R"([{"replicas": 2, "template": {"spec": {"completionMode": "Indexed",
          "parallelism": 2, "template": {"spec": {"restartPolicy": "Never", "containers": []}}}}, "groupName": "g",
          "name": "n", "dependsOn": [{"status": "Ready", "name": "a"}]}])",
       R"([{"name":"n","groupName":"g","template":{"metadata":{},"spec":{"parallelism":2,"template":{"metadata":{},)"
       R"("spec":{"containers":null,"restartPolicy":"Never"}},"completionMode":"Indexed"}},"replicas":2,)"
       R"("dependsOn":[{"name":"a","status":"Ready"}]}])"},
      {"no replicas", R"([{"name": "n", "replicas": 0, "groupName": "", "dependsOn": []}])",
       R"([{"name":"n","template":{"metadata":{},"spec":{"template":{"metadata":{},"spec":{"containers":null}}}}}])"},
      {"a container with amounts and marks of markup", R"([{"name": "n", "template": {"spec": {"template": {"spec": {
          "containers": [{"resources": {"requests": {"cpu": 0.5}}, "args": ["a<b>&c"], "name": "m"}]}}}}}])",
       R"([{"name":"n","template":{"metadata":{},"spec":{"template":{"metadata":{},"spec":{"containers":[{"name":"m",)"
       R"("args":["a\u003cb\u003e\u0026c"],"resources":{"requests":{"cpu":"500m"}}}]}}}}}])"},
      {"fields that only newer versions know, by name and last", R"([{"name": "n", "zeta": 1, "alpha": {"b": 1},
          "template": {"metadata": {"labels": {"a": ""}}}}])",
       R"([{"name":"n","template":{"metadata":{"labels":{"a":""}},"spec":{"template":{"metadata":{},)"
       R"("spec":{"containers":null}}}},"alpha":{"b":1},"zeta":1}])"},
      {"what has another shape", R"([5, {"name": 7, "template": "t"}])", R"([5,{"name":7,"template":"t"}])"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(print_replicated_jobs(json::parse(row.list)) == row.text);
  }
}

TEST_CASE("values that the typed API cannot tell apart are the same") {
  struct Row {
    std::string name;
    const char* one;
    const char* other;
    bool same;
  };
  const Row rows[] = {
      {"equal texts", R"("a")", R"("a")", true},
      {"different texts", R"("a")", R"("b")", false},
      {"nothing and an empty text", R"({"a": ""})", "{}", true},
      {"nothing and an empty list", "{}", R"({"a": []})", true},
      {"nothing and an empty object", "{}", R"({"a": {}})", true},
      {"nothing and null", "{}", R"({"a": null})", true},
      {"nothing and zero", "{}", R"({"a": 0})", false},
      {"a plain switch that is off", R"({"hostNetwork": false})", "{}", true},
      {"a plain switch that is on", R"({"hostNetwork": true})", "{}", false},
      {"a switch with a third state", R"({"suspend": false})", "{}", false},
      {"equal amounts", R"({"limits": {"cpu": "0.5"}})", R"({"limits": {"cpu": "500m"}})", true},
      {"different amounts", R"({"limits": {"cpu": "0.5"}})", R"({"limits": {"cpu": "0.6"}})", false},
      {"an amount more", R"({"limits": {"cpu": "1"}})", R"({"limits": {"cpu": "1", "memory": "1"}})", false},
      {"texts elsewhere are no amounts", R"({"value": "0.5"})", R"({"value": "500m"})", false},
      {"an element less", "[1, 2]", "[1]", false},
      {"elements in another order", "[1, 2]", "[2, 1]", false},
      {"elements that say the same", R"([{"a": ""}])", "[{}]", true},
      {"a member more", R"({"a": 1})", R"({"a": 1, "b": 2})", false},
      {"a list and an object", "[]", R"({"a": 1})", false},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(same_in_typed_api(json::parse(row.one), json::parse(row.other)) == row.same);
    CHECK(same_in_typed_api(json::parse(row.other), json::parse(row.one)) == row.same);
  }
}

TEST_CASE("a deep value is compared in one walk") {
  json one = 1;
  for (int i = 0; i < 60; ++i) one = json{{"a", std::move(one)}};
  json other = one;
  CHECK(same_in_typed_api(one, other));
  other["a"]["b"] = 1;
  CHECK_FALSE(same_in_typed_api(one, other));
}

}  // namespace jobset_text_test
