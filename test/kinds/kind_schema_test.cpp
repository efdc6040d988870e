#include "kinds/kind_schema.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/yaml.h"
#include "test/support/files.h"

namespace kind_schema_test {

using namespace muster;
using nlohmann::json;

namespace {

json parse(const std::string& text) {
  return read_yaml(text)->at(0).value;
}

KindDescriptionPtr train(const std::string& more = "", const std::string& suspend = "spec.suspend") {
  return read_kind_description(parse(R"(
apiVersion: config.muster.batch/v1alpha1
kind: JobKind
framework: example.com/train
group: example.com
version: v1
kindName: Train
resource: trains
suspend: )" + suspend + R"(
podSets:
- {name: engine, path: spec.engine}
- {each: spec.cars, namePath: name, count: [number]}
active: {path: status.cars.*.running, nonzero: true}
ready: {condition: Ready}
)" + more))
      .value();
}

const char* const kDefinition = R"(
spec:
  scope: Namespaced
  names: {kind: Train}
  versions:
  - name: v1
    served: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              suspend: {type: boolean}
              halted: {type: string}
              engine: {type: object, properties: {template: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
              cars:
                type: array
                items:
                  type: object
                  properties: {name: {type: string}, number: {type: integer}, template: {type: object}}
          status:
            type: object
            properties:
              conditions: {type: array, items: {type: object}}
              cars: {type: object, additionalProperties: {type: object, properties: {running: {type: integer}}}}
)";

std::string told(const KindDescription& kind, const json& definition) {
  std::string text;
  for (const FieldError& error : contradictions(kind, definition)) text += error.text() + "\n";
  return text;
}

}  // namespace

TEST_CASE("kind schema: a description that the definition bears out is contradicted by nothing") {
  CHECK(told(*train(), parse(kDefinition)) == "");
  CHECK(told(*train(R"(ends: [{when: {path: status.cars.first.running, nonzero: true}}])"), parse(kDefinition)) == "");
}

TEST_CASE("kind schema: a path that is not in the schema is told with the field and the path") {
  CHECK(told(*train("", "spec.suspended"), parse(kDefinition)) ==
        "suspend: Invalid value: \"spec.suspended\": CustomResourceDefinition trains.example.com has no spec.suspended "
        "in "
        "its schema of v1\n");
  CHECK(told(*train("", "spec.halted"), parse(kDefinition)).find("is of type string") != std::string::npos);
  const std::string more = told(*train(R"(
managedBy: spec.who
controllerName: example.com/it
leftAlone: {any: [{path: spec.selector.*, present: true}]}
ends: [{when: {path: status.state, in: [Done]}, message: status.words}]
priorityClass: [spec.class]
)"),
                                parse(kDefinition));
  for (const char* field :
       {"managedBy: ", "leftAlone.path: ", "ends[0].when.path: ", "ends[0].message: ", "priorityClass[0]: "}) {
    INFO(more);
    CHECK(more.find(field) != std::string::npos);
  }
}

TEST_CASE("kind schema: pod sets are looked for in their elements") {
  json definition = parse(kDefinition);
  json& spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
  spec["cars"]["items"]["properties"].erase("number");
  CHECK(told(*train(), definition).find("podSets[1].count[0]: Invalid value: \"number\"") == 0);
  spec["cars"] = {{"type", "object"}, {"properties", {{"name", {{"type", "string"}}}}}};
  CHECK(told(*train(), definition).find("is no list") != std::string::npos);
  spec["engine"] = {{"type", "object"}, {"properties", {{"pod", {{"type", "object"}}}}}};
  CHECK(told(*train(), definition).find("podSets[0].template: Invalid value: \"template\"") == 0);
}

TEST_CASE("kind schema: another kind, a version that is not served, and what has no namespace contradict") {
  json definition = parse(kDefinition);
  definition["spec"]["versions"][0]["served"] = false;
  CHECK(told(*train(), definition).find("version: ") == 0);
  definition["spec"]["scope"] = "Cluster";
  CHECK(told(*train(), definition).find("resource: ") == 0);
  definition["spec"]["names"]["kind"] = "Tram";
  CHECK(told(*train(), definition).find("kindName: ") == 0);
}

TEST_CASE("kind schema: where a schema takes any field, so does the comparison") {
  json definition = parse(kDefinition);
  definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = {{"type", "object"},
                                                                    {"x-kubernetes-preserve-unknown-fields", true}};
  CHECK(told(*train("", "spec.anything"), definition) == "");
}

TEST_CASE("kind schema: the lean definition of RayJobs in test/cluster bears out its row") {
  const KindDescription* kind = find_described_kind("ray.io", "RayJob");
  REQUIRE(kind != nullptr);
  CHECK(told(*kind, parse(test::read_file(std::string(MUSTER_SOURCE_DIR) + "/test/cluster/kinds/ray/crd.yaml"))) == "");
}

}  // namespace kind_schema_test
