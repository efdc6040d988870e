#include "state/pod_requests.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "test/support/vectors.h"

namespace pod_requests_test {

using namespace muster;
using namespace muster::state;
using nlohmann::json;

namespace {

struct Cluster {
  std::vector<LimitRangePtr> limit_ranges;
  std::vector<RuntimeClassPtr> runtime_classes;

  explicit Cluster(const json& input) {
    for (const json& spec : input.value("limitRanges", json::array()))
      limit_ranges.push_back(read_limit_range({{"spec", spec}}));
    for (const json& object : input.value("runtimeClasses", json::array()))
      runtime_classes.push_back(read_runtime_class(object));
  }

  ResourceDefaults defaults_for(const PodSpec& spec) const {
    ResourceDefaults defaults;
    for (const LimitRangePtr& limit_range : limit_ranges) defaults.limit_ranges.push_back(limit_range.get());
    for (const RuntimeClassPtr& runtime_class : runtime_classes) {
      if (runtime_class->meta.name == spec.runtime_class) defaults.runtime_class = runtime_class.get();
    }
    return defaults;
  }
};

QueueSettings settings_of(const json& input) {
  QueueSettings settings;
  settings.exclude_resource_prefixes = strings_at(input, {"excludeResourcePrefixes"});
  for (const json& item : input.value("transformations", json::array())) {
    settings.transformations.push_back({.input = item.at("input"),
                                        .retain = item.value("strategy", "Retain") == "Retain",
                                        .multiply_by = item.value("multiplyBy", ""),
                                        .outputs = read_resource_list(item.at("outputs"))});
  }
  return settings;
}

json requirements_json(const ResourceRequirements& requirements) {
  json object = json::object();
  if (!requirements.limits.empty()) object["limits"] = to_json(requirements.limits);
  if (!requirements.requests.empty()) object["requests"] = to_json(requirements.requests);
  return object;
}

// Like the pod's own words, with what was filled in.
json adjusted_json(const PodResources& resources) {
  json object = json::object();
  const auto put = [&](const char* key, const std::vector<ContainerSpec>& containers) {
    for (const ContainerSpec& container : containers) {
      object[key].push_back({{"name", container.name}, {"resources", requirements_json(container.resources)}});
    }
  };
  put("containers", resources.containers);
  put("initContainers", resources.init_containers);
  if (!resources.overhead.empty()) object["overhead"] = to_json(resources.overhead);
  if (resources.pod) {
    if (json pod = requirements_json(*resources.pod); !pod.empty()) object["resources"] = std::move(pod);
  }
  return object;
}

// The recorded form has more of the containers than their resources, and an empty list
// beside a missing one where it makes no difference.
json resources_only(const json& recorded) {
  json object = json::object();
  for (const char* key : {"containers", "initContainers"}) {
    for (const json& container : array_at(recorded, {key})) {
      json resources = json::object();
      for (const auto& [name, list] : object_at(container, {"resources"}).items()) {
        if (!list.empty()) resources[name] = list;
      }
      object[key].push_back({{"name", container["name"]}, {"resources", std::move(resources)}});
    }
  }
  for (const char* key : {"overhead", "resources"}) {
    if (recorded.contains(key) && !recorded[key].empty()) object[key] = recorded[key];
  }
  return object;
}

std::vector<std::string> texts(const FieldErrors& errors) {
  std::vector<std::string> found;
  for (const FieldError& error : errors) found.push_back(error.text());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> texts(const json& errors) {
  std::vector<std::string> found;
  for (const json& error : errors) {
    found.push_back(error["field"].get<std::string>() + ": " + error["message"].get<std::string>());
  }
  std::sort(found.begin(), found.end());
  return found;
}

void check(const json& input, const json& output) {
  const PodSpec spec(input["podSpec"]);
  const Cluster cluster(input);
  const ResourceDefaults defaults = cluster.defaults_for(spec);
  const PodResources adjusted = adjusted_resources(spec, defaults);
  CHECK(adjusted_json(adjusted) == resources_only(output["adjusted"]));

  const ResourceList requests = pod_requests(adjusted);
  CHECK(to_json(requests) == output["podRequests"]);
  CHECK(to_requests(requests) == output["perPod"].get<Requests>());

  const int64_t count = output["totalCount"];
  const Requests total = multiply(quota_requests(requests, settings_of(input)), count);
  CHECK(total == output["total"].get<Requests>());
  json quantities = json::object();
  for (const auto& [name, amount] : total) quantities[name] = to_quantity(name, amount).text();
  CHECK(quantities == output.value("totalQuantities", json::object()));

  const FieldPath path("spec.podSets[0].template.spec");
  CHECK(texts(check_limits(adjusted, path)) == texts(output["resourceErrors"]));
  CHECK(texts(check_limit_ranges(adjusted, defaults.limit_ranges, path)) == texts(output["limitRangeErrors"]));
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("pod requests: what a pod set asks of quota is what upstream counts") {
    const auto lines = muster::test::load_vectors("pod_requests");
    for (const json& line : lines) {
      INFO(line["id"].get<std::string>());
      check(line["input"], line["output"]);
    }
  }
}

TEST_CASE("pod requests: a pod that asks for more than its own limit is named by its resources") {
  PodResources resources;
  resources.pod = ResourceRequirements{.requests = {{"cpu", Quantity::of_milli(500)}},
                                       .limits = {{"cpu", Quantity::of_milli(100)}}};
  const FieldErrors errors = check_limits(resources, FieldPath("spec.podSets").index(0).child("template.spec"));
  REQUIRE(errors.size() == 1);
  CHECK(errors[0].text() ==
        "spec.podSets[0].template.spec.resources: Invalid value: [\"cpu\"]: "
        "requests must not exceed its limits");
}

TEST_CASE("pod requests: a negative factor takes from what other transformations add, and from nothing else") {
  QueueSettings settings;
  const auto replaced_by = [](const char* input, const json& outputs) {
    return ResourceTransformation{
        .input = input, .retain = false, .multiply_by = "", .outputs = read_resource_list(outputs)};
  };
  settings.transformations = {replaced_by("a.com/chip", {{"a.com/credits", "10"}}),
                              replaced_by("a.com/rebate", {{"a.com/credits", "-4"}})};
  const auto credits = [&](const json& requests) {
    return quota_requests(read_resource_list(requests), settings).at("a.com/credits");
  };
  CHECK(credits({{"a.com/chip", "2"}, {"a.com/rebate", "1"}}) == 16);
  CHECK(credits({{"a.com/chip", "1"}, {"a.com/rebate", "3"}}) == 0);
  CHECK(credits({{"a.com/chip", "1"}, {"a.com/rebate", "3"}, {"a.com/credits", "7"}}) == 7);
  CHECK(credits({{"a.com/chip", "1"}, {"a.com/rebate", "1"}, {"a.com/credits", "7"}}) == 13);
}

TEST_CASE("pod requests: amounts beyond int64 stop at its end") {
  CHECK(saturating_add(INT64_MAX, 1) == INT64_MAX);
  CHECK(saturating_add(INT64_MIN, -1) == INT64_MIN);
  CHECK(saturating_subtract(INT64_MIN, 1) == INT64_MIN);
  CHECK(saturating_subtract(0, INT64_MIN) == INT64_MAX);
  CHECK(saturating_multiply(INT64_MAX, 2) == INT64_MAX);
  CHECK(saturating_multiply(INT64_MAX, -2) == INT64_MIN);
  const Requests huge = to_requests(read_resource_list({{"cpu", "10E"}, {"memory", "100E"}}));
  CHECK(huge.at("cpu") == INT64_MAX);
  CHECK(huge.at("memory") == INT64_MAX);
}

TEST_CASE("quantity: products are exact") {
  const auto product = [](const char* a, const char* b) {
    return Quantity::parse(a).value().times(Quantity::parse(b).value());
  };
  CHECK(product("1600m", "10") == Quantity::of(16));
  CHECK(product("1Gi", "1600m") == Quantity::parse("1717986918400m").value());
  CHECK(product("-3", "250m") == Quantity::of_milli(-750));
  CHECK(product("0", "5").is_zero());
  CHECK(product("10E", "10E") == Quantity::parse("100000000000000000000E").value());
}

}  // namespace pod_requests_test
