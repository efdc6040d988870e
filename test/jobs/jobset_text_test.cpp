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

TEST_CASE("changed fields are named by their paths") {
  const std::string many_lists = "[[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10], [11]]";
  struct Row {
    std::string name;
    std::string before, now;
    std::vector<std::string> texts;
  };
  const std::string long_text(300, 'x');
  const Row rows[] = {
      {"nothing", R"({"a": ""})", "{}", {}},
      {"a member", R"({"a": {"b": 1}})", R"({"a": {"b": 2}})", {"spec.a.b: Invalid value: 2: fixed"}},
      {"a member that is new", "{}", R"({"a": {"b": 2}})", {R"(spec.a: Invalid value: {"b":2}: fixed)"}},
      {"a member that is gone", R"({"a": 1})", "{}", {"spec.a: Invalid value: null: fixed"}},
      {"a key of a map",
       R"({"l": {"x.io/a": "1"}})",
       R"({"l": {"x.io/a": "2"}})",
       {R"(spec.l[x.io/a]: Invalid value: "2": fixed)"}},
      {"an element",
       R"({"a": [{"b": 1}, {"b": 2}]})",
       R"({"a": [{"b": 1}, {"b": 3}]})",
       {"spec.a[1].b: Invalid value: 3: fixed"}},
      {"a longer list",
       R"({"a": [{"name": "x"}]})",
       R"({"a": [{"name": "x"}, {"name": "y"}]})",
       {R"(spec.a: Invalid value: ["x","y"]: fixed)"}},
      {"a shorter list without names", "[1, 2]", "[1]", {"spec: Invalid value: [1]: fixed"}},
      {"amounts", R"({"limits": {"cpu": "1"}})", R"({"limits": {"cpu": "1000m"}})", {}},
      {"other amounts",
       R"({"limits": {"cpu": "1"}})",
       R"({"limits": {"cpu": "2"}})",
       {R"(spec.limits: Invalid value: {"cpu":"2"}: fixed)"}},
      {"a long value", R"({"a": 1})", R"({"a": ")" + long_text + "\"}", {"spec.a: Invalid value: fixed"}},
      {"two fields",
       R"({"a": 1, "b": 1})",
       R"({"a": 2, "b": 2})",
       {"spec.a: Invalid value: 2: fixed", "spec.b: Invalid value: 2: fixed"}},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    std::vector<std::string> texts;
    for (const FieldError& error :
         changes_in_typed_api(json::parse(row.before), json::parse(row.now), FieldPath("spec"), "fixed"))
      texts.push_back(error.text());
    CHECK(texts == row.texts);
  }
  CHECK(
      changes_in_typed_api(json::parse(many_lists), json::parse("[0,1,2,3,4,5,6,7,8,9,10,11]"), FieldPath("a"), "fixed")
          .size() == 10);
}

}  // namespace jobset_text_test
