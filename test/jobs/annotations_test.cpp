// Readers of annotations and labels: prebuilt Workloads, admission gates, slice layers.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "jobs/admission_gates.h"
#include "jobs/prebuilt_workload.h"
#include "jobs/topology.h"
#include "jobs/unread_annotations.h"

namespace annotations_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;

TEST_CASE("admission gates are what stands between the commas") {
  using Gates = std::vector<std::string_view>;
  CHECK(admission_gates_in("") == Gates{});
  CHECK(admission_gates_in("a/b") == Gates{"a/b"});
  CHECK(admission_gates_in(" a/b ,\tc/d") == Gates{"a/b", "c/d"});
  CHECK(admission_gates_in(",") == Gates{"", ""});
  CHECK(admission_gates_in("a/b,") == Gates{"a/b", ""});
  CHECK(admission_gates_in(" ") == Gates{""});
}

TEST_CASE("the name of a prebuilt Workload is found where the gate says") {
  constexpr const char* kKey = "kueue.x-k8s.io/prebuilt-workload-name";
  const std::string in_label = std::string("metadata.labels[") + kKey + "]";
  const std::string in_annotation = std::string("metadata.annotations[") + kKey + "]";
  const std::string long_name(64, 'a');
  struct Row {
    std::string name;
    std::optional<std::string> label, annotation;
    bool annotation_first;
    std::optional<std::string> expected, field;
  };
  const Row rows[] = {
      {"neither", std::nullopt, std::nullopt, true, std::nullopt, std::nullopt},
      {"the annotation first", "l", "a", true, "a", in_annotation},
      {"the label where the annotation is empty", "l", "", true, "l", in_label},
      {"an empty label is a name", "", std::nullopt, true, "", in_label},
      {"an empty annotation is none", std::nullopt, "", true, std::nullopt, std::nullopt},
      {"the label first without the gate", "l", "a", false, "l", in_label},
      {"a short annotation does not count without the gate", std::nullopt, "a", false, std::nullopt, std::nullopt},
      {"a long annotation does", std::nullopt, long_name, false, long_name, in_annotation},
      {"a long annotation counts beside an empty label", "", long_name, false, long_name, in_annotation},
      {"a label beats even a long annotation without the gate", "l", long_name, false, "l", in_label},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    json object = {{"metadata", json::object()}};
    if (row.label) object["metadata"]["labels"][kKey] = *row.label;
    if (row.annotation) object["metadata"]["annotations"][kKey] = *row.annotation;
    RuleSettings settings;
    settings.feature_gates.set(Gate::kWorkloadIdentifierAnnotations, row.annotation_first);
    const auto found = prebuilt_workload_name_of(settings, object);
    CHECK(found.has_value() == row.expected.has_value());
    if (!found || !row.expected) continue;
    CHECK(found->name == *row.expected);
    CHECK(found->field == *row.field);
  }
}

TEST_CASE("slice layers are read from JSON and what is none is explained") {
  const auto layers = parse_slice_layers(R"([{"topology": "rack", "size": 4}, {"topology": "host"}])");
  REQUIRE(layers.ok());
  REQUIRE(layers->size() == 2);
  CHECK((*layers)[0].topology == "rack");
  CHECK((*layers)[0].size == 4);
  CHECK((*layers)[1].size == 0);

  for (const char* text : {"", "{}", "[1]", R"([{"topology": "rack", "size": "4"}])", "[", "null"}) {
    INFO(text);
    const auto refused = parse_slice_layers(text);
    CHECK_FALSE(refused.ok());
    if (!refused.ok()) CHECK_FALSE(refused.error().message.empty());
  }
}

TEST_CASE("misspelt keys: the number of sentences and of comparisons has a limit") {
  json object = {{"metadata", json::object()}};
  json& labels = object["metadata"]["labels"];
  // Longer than any key, and of the same domain: nothing is compared.
  for (int i = 0; i < 1000; ++i) labels["kueue.x-k8s.io/" + std::string(300, 'q') + std::to_string(i)] = "x";
  CHECK(misspelt_keys_of(object, nullptr).empty());
  // As many that are compared and are near nothing: what comes later is not compared.
  for (int i = 0; i < 1000; ++i) labels["kueue.x-k8s.io/a-" + std::to_string(i)] = "x";
  labels["kueue.x-k8s.io/queue-nam"] = "x";
  CHECK(misspelt_keys_of(object, nullptr).empty());
  labels.clear();
  for (char letter = 'a'; letter <= 'z'; ++letter) labels[std::string("kueue.x-k8s.io/queue-nam") + letter] = "x";
  const auto sentences = misspelt_keys_of(object, nullptr);  // queue-name itself is not one
  REQUIRE(sentences.size() == kMostMisspeltKeys);
  CHECK(sentences[0] ==
        "metadata.labels[kueue.x-k8s.io/queue-nama]: is not known; did you mean kueue.x-k8s.io/queue-name?");
}

TEST_CASE("misspelt keys: what has the wrong shape is passed over") {
  for (const char* text :
       {"null", "7", R"({"metadata": []})", R"({"metadata": {"labels": ["kueue.x-k8s.io/queue-nam"]}})",
        R"({"metadata": {"labels": {"": null}}, "spec": {"replicatedJobs": [7, {"template": []}]}})"}) {
    INFO(text);
    CHECK(misspelt_keys_of(json::parse(text), &jobset).empty());
  }
}

}  // namespace annotations_test
