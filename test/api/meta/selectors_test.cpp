#include "api/meta/selectors.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/node_affinity.h"
#include "api/tolerations.h"
#include "test/support/vectors.h"

namespace muster::selectors_test {
namespace {

using nlohmann::json;

Labels labels_from(const json& source) {
  return source.is_null() ? Labels() : labels_of({{"metadata", {{"labels", source}}}});
}

// The recording cut errors after 400 characters.
std::string cut(const std::string& text) {
  return text.substr(0, 400);
}

void check_label_selector(const json& input, const json& output) {
  const auto selector = LabelSelector::parse(input["selector"]);
  if (output.contains("error")) {
    REQUIRE_FALSE(selector.ok());
    CHECK(cut(selector.error().message) == output["error"].get<std::string>());
    return;
  }
  REQUIRE(selector.ok());
  CHECK(selector->matches(labels_from(input["labels"])) == output["matches"].get<bool>());
  CHECK(selector->text() == output["string"].get<std::string>());
  CHECK(selector->empty() == output["empty"].get<bool>());
}

void check_node_affinity(const json& input, const json& output) {
  const RequiredNodeAffinity affinity(input["podSpec"]);
  const auto matches =
      affinity.matches(input.value("nodeName", ""), labels_from(input.value("nodeLabels", json::object())));
  if (output.contains("error")) {
    REQUIRE_FALSE(matches.ok());
    CHECK(cut(matches.error().message) == output["error"].get<std::string>());
    return;
  }
  REQUIRE(matches.ok());
  CHECK(*matches == output["matches"].get<bool>());
}

void check_toleration(const json& input, const json& output) {
  const Taint taint = read_taints(json::array({input["taint"]})).front();
  const std::vector<Toleration> tolerations = read_tolerations(input["tolerations"]);
  CHECK(any_tolerates(tolerations, taint, ComparisonOperators::kHonoured) == output["tolerated"].get<bool>());
  const bool without = any_tolerates(tolerations, taint, ComparisonOperators::kIgnored);
  CHECK(without == output["toleratedWithoutComparisonOperators"].get<bool>());
  const bool blocks =
      taint.counts_for_scheduling() && !any_tolerates(tolerations, taint, ComparisonOperators::kHonoured);
  CHECK(blocks == output["blocksScheduling"].get<bool>());
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("selectors, node affinity and tolerations answer as the originals were recorded") {
    const auto lines = test::load_vectors("selectors");
    for (const json& line : lines) {
      INFO(line["id"].get<std::string>());
      const json &input = line["input"], &output = line["output"];
      const std::string kind = input["kind"];
      if (kind == "labelSelector") {
        check_label_selector(input, output);
      } else if (kind == "nodeAffinity") {
        check_node_affinity(input, output);
      } else {
        REQUIRE(kind == "tolerate");
        check_toleration(input, output);
      }
    }
  }
}

TEST_SUITE("selectors") {
  TEST_CASE("no selector matches nothing and an empty one everything") {
    const auto none = LabelSelector::parse(nullptr);
    REQUIRE(none.ok());
    CHECK(none->matches_nothing());
    CHECK_FALSE(none->matches({}));
    const auto all = LabelSelector::parse(json::object());
    REQUIRE(all.ok());
    CHECK(all->empty());
    CHECK(all->matches({{"a", "b"}}));
    CHECK(LabelSelector::everything().matches({}));
  }

  TEST_CASE("selectors of the wrong shape are refused with the path of the culprit") {
    struct Row {
      std::string name;
      json selector;
      std::string expected;
    };
    const Row rows[] = {
        {"a selector that is a text", "a=b", "must be an object"},
        {"labels that are a list", {{"matchLabels", json::array({"a"})}}, "matchLabels: must be an object"},
        {"a label that is a number", {{"matchLabels", {{"a", 1}}}}, "matchLabels[a]: must be a string"},
        {"expressions that are an object", {{"matchExpressions", json::object()}}, "matchExpressions: must be a list"},
        {"an expression that is a text", {{"matchExpressions", {"a"}}}, "not a valid label selector operator"},
        {"a value that is a number",
         {{"matchExpressions", {{{"key", "a"}, {"operator", "In"}, {"values", {1}}}}}},
         "values[0]: Invalid value: 1: must be a string"},
    };
    for (const Row& row : rows) {
      INFO(row.name);
      const auto selector = LabelSelector::parse(row.selector);
      REQUIRE_FALSE(selector.ok());
      CHECK(selector.error().message.find(row.expected) != std::string::npos);
    }
  }

  TEST_CASE("labels that are not strings are left out") {
    const Labels labels = labels_of(json::parse(R"({"metadata": {"labels": {"a": "x", "b": 1, "c": null}}})"));
    CHECK(labels == Labels{{"a", "x"}});
    CHECK(labels_of(json::array()).empty());
  }

  TEST_CASE("a node without a name passes conditions on metadata.name") {
    const json spec = json::parse(R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}]}}}})");
    const RequiredNodeAffinity affinity(spec);
    CHECK(*affinity.matches("n1", {}));
    CHECK_FALSE(*affinity.matches("n2", {}));
    CHECK(*affinity.matches("", {}));
  }

  TEST_CASE("a malformed field term is reported with its path") {
    const json spec = json::parse(R"({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution":
        {"nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "Exists"},
                                                {"key": "metadata.name", "operator": "In", "values": []}]}]}}}})");
    const auto result = RequiredNodeAffinity(spec).matches("n1", {});
    REQUIRE_FALSE(result.ok());
    CHECK(result.error().message ==
          "[nodeSelectorTerms[0].matchFields[0].operator: Unsupported value: \"Exists\": supported values: \"In\", "
          "\"NotIn\", nodeSelectorTerms[0].matchFields[1].values: Invalid value: []: must have one element]");
  }
}

}  // namespace muster::selectors_test
