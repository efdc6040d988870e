#include "api/review/pod_schema.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace pod_schema_test {

using namespace muster;
using nlohmann::json;

namespace {

SchemaFindings check(const json& spec) {
  SchemaFindings findings;
  check_template("PodSpec", spec, FieldPath("spec"), findings);
  return findings;
}

}  // namespace

TEST_CASE("pod schema: it finds what is wrong by its path") {
  const json spec = {{"containers", {{{"name", "a"}, {"imagee", "x"}, {"image", 5}}}}, {"nodeSelector", {{"k", true}}}};
  const SchemaFindings found = check(spec);
  REQUIRE(found.errors.size() == 2);
  CHECK(found.errors[0].text() == "spec.containers[0].image: Invalid value: 5: must be a string");
  CHECK(found.errors[1].text() == "spec.nodeSelector[k]: Invalid value: true: must be a string");
  CHECK(found.unknown == std::vector<std::string>{"spec.containers[0].imagee"});
  CHECK(check(nullptr).errors.empty());
  CHECK(check(7).errors.size() == 1);
}

TEST_CASE("pod schema: findings are counted beyond the first hundred") {
  json spec = json::object();
  for (int i = 0; i < 250; ++i) {
    spec["unknown" + std::to_string(i)] = 1;
    spec["nodeSelector"]["k" + std::to_string(i)] = i;
  }
  const SchemaFindings found = check(spec);
  CHECK(found.unknown.size() == kMostFindings);
  CHECK(found.more_unknown == 150);
  CHECK(found.errors.size() == kMostFindings);
  CHECK(found.more_errors == 150);
}

}  // namespace pod_schema_test
