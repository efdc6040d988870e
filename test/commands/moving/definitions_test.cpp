#include "commands/moving/rules/definitions.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace definitions_test {

using namespace muster;
using namespace muster::commands;
using nlohmann::json;

TEST_CASE("definitions: fields are added below properties and items, and nothing that is there changes") {
  const auto with = [](json schema) {
    return json{{"spec", {{"versions", {{{"name", "v1"}, {"schema", {{"openAPIV3Schema", std::move(schema)}}}}}}}}};
  };
  const json live = with({{"properties",
                           {{"a", {{"type", "string"}, {"maxLength", 3}}},
                            {"list", {{"items", {{"properties", {{"x", {{"type", "string"}}}}}}}}},
                            {"free", {{"x-kubernetes-preserve-unknown-fields", true}}},
                            {"map", {{"additionalProperties", {{"type", "string"}}}}}}}});
  const json own = with({{"properties",
                          {{"a", {{"type", "integer"}}},
                           {"b", {{"type", "string"}}},
                           {"list", {{"items", {{"properties", {{"y", {{"type", "string"}}}}}}}}},
                           {"free", {{"properties", {{"z", {{"type", "string"}}}}}}},
                           {"map", {{"properties", {{"z", {{"type", "string"}}}}}}}}}});
  CHECK(missing_fields(live, own) == std::vector<std::string>{"v1: b", "v1: list[].y"});
  const json merged = merged_definition(live, own)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"];
  CHECK(merged["a"] == json{{"type", "string"}, {"maxLength", 3}});
  CHECK(merged["b"] == json{{"type", "string"}});
  CHECK(merged["list"]["items"]["properties"].size() == 2);
  CHECK_FALSE(merged["free"].contains("properties"));
  CHECK_FALSE(merged["map"].contains("properties"));
  CHECK(missing_fields(merged_definition(live, own), own).empty());
}

TEST_CASE("definitions: a version that is served stays served") {
  const auto serving = [](bool served) {
    return json{
        {"spec", {{"versions", {{{"name", "v1beta1"}, {"served", served}}, {{"name", "v1beta2"}, {"served", true}}}}}}};
  };
  for (const bool served : {true, false})
    CHECK(merged_definition(serving(served), serving(!served))["spec"]["versions"][0]["served"] == served);
}

}  // namespace definitions_test
