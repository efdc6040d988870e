#include "state/pod_requests.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

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

// Kueue 0.20.0 answers otherwise than the recorded version in three cases. The first: a limit of a container is its
// request before a LimitRange has a default for it. The recorded resources, as 0.20.0 has them; true if they differ.
bool limits_come_first(const json& pod_spec, json& adjusted) {
  bool differs = false;
  const auto correct = [&](const json& own, json& filled) {
    for (const auto& [name, limit] : object_at(own, {"limits"}).items()) {
      if (object_at(own, {"requests"}).contains(name)) continue;
      json& request = filled["requests"][name];
      const Quantity amount = *Quantity::from_json(limit);
      if (*Quantity::from_json(request) == amount) continue;
      request = amount.to_json();
      differs = true;
    }
  };
  for (const char* key : {"containers", "initContainers"}) {
    const json& own = array_at(pod_spec, {key});
    for (size_t i = 0; i < own.size(); ++i) correct(object_at(own[i], {"resources"}), adjusted[key][i]["resources"]);
  }
  if (pod_spec.contains("resources")) correct(pod_spec["resources"], adjusted["resources"]);
  return differs;
}

// The second: where the containers request more than the pod as a whole, their requests count. What the scheduler
// adds up, one resource at a time.
ResourceList asked_by(const PodResources& pod) {
  std::set<std::string> names;
  const auto note = [&](const ResourceList& list) {
    for (const auto& [name, quantity] : list) names.insert(name);
  };
  for (const ContainerSpec& container : pod.init_containers) note(container.resources.requests);
  for (const ContainerSpec& container : pod.containers) note(container.resources.requests);
  note(pod.overhead);
  for (const auto& [name, quantity] : pod.pod ? pod.pod->requests : ResourceList()) {
    if (name == "cpu" || name == "memory" || name.starts_with("hugepages-")) names.insert(name);
  }
  ResourceList asked;
  for (const std::string& name : names) {
    const auto amount = [&](const ResourceList& list) {
      const auto found = list.find(name);
      return found == list.end() ? Quantity() : found->second;
    };
    Quantity sidecars, most;
    for (const ContainerSpec& container : pod.init_containers) {
      Quantity now = sidecars;
      now += amount(container.resources.requests);
      if (container.sidecar) sidecars = now;
      most = std::max(most, now);
    }
    Quantity running = sidecars;
    for (const ContainerSpec& container : pod.containers) running += amount(container.resources.requests);
    most = std::max(most, running);
    if (pod.pod && (name == "cpu" || name == "memory" || name.starts_with("hugepages-")))
      most = std::max(most, amount(pod.pod->requests));
    most += amount(pod.overhead);
    asked.emplace(name, most);
  }
  return asked;
}

bool containers_request_more(PodResources pod) {
  if (!pod.pod) return false;
  const ResourceList requests = pod.pod->requests;
  pod.pod.reset();
  pod.overhead.clear();
  const ResourceList containers = asked_by(pod);
  return std::any_of(requests.begin(), requests.end(), [&](const auto& request) {
    const auto found = containers.find(request.first);
    return found != containers.end() && found->second > request.second;
  });
}

// The third: transformations read what is excluded, and then it is excluded, also from their outputs.
bool reads_excluded(const QueueSettings& settings) {
  const auto excluded = [&](const std::string& name) {
    return std::any_of(settings.exclude_resource_prefixes.begin(), settings.exclude_resource_prefixes.end(),
                       [&](const std::string& prefix) { return !name.empty() && name.starts_with(prefix); });
  };
  return std::any_of(settings.transformations.begin(), settings.transformations.end(), [&](const auto& each) {
    return excluded(each.input) || excluded(each.multiply_by) ||
           std::any_of(each.outputs.begin(), each.outputs.end(), [&](const auto& out) { return excluded(out.first); });
  });
}

// muster's own (docs/differences.md): of several LimitRanges the largest default counts, and in the recordings the
// first.
bool defaults_differ(const json& input) {
  std::map<std::string, std::string> seen;
  for (const json& limit_range : array_at(input, {"limitRanges"})) {
    for (const json& item : array_at(limit_range, {"limits"})) {
      for (const char* list : {"default", "defaultRequest"}) {
        for (const auto& [name, amount] : object_at(item, {list}).items()) {
          const std::string key = std::string(string_at(item, {"type"})) + " " + list + " " + name;
          if (seen.try_emplace(key, amount.dump()).first->second != amount.dump()) return true;
        }
      }
    }
  }
  return false;
}

void check(const json& input, const json& output) {
  const PodSpec spec(input["podSpec"]);
  const Cluster cluster(input);
  const ResourceDefaults defaults = cluster.defaults_for(spec);
  const PodResources adjusted = adjusted_resources(spec, defaults);
  json recorded = output["adjusted"];
  const bool other_limits = limits_come_first(input["podSpec"], recorded), other_defaults = defaults_differ(input);
  if (!other_defaults) CHECK(adjusted_json(adjusted) == resources_only(recorded));

  const bool other_requests = other_limits || other_defaults || containers_request_more(adjusted);
  const ResourceList requests = pod_requests(adjusted);
  if (other_requests) {
    CHECK(requests == asked_by(adjusted));
  } else {
    CHECK(to_json(requests) == output["podRequests"]);
    CHECK(to_requests(requests) == output["perPod"].get<Requests>());
  }

  const int64_t count = output["totalCount"];
  const QueueSettings settings = settings_of(input);
  const Requests total = multiply(quota_requests(requests, settings), count);
  if (!other_requests && !reads_excluded(settings)) {
    CHECK(total == output["total"].get<Requests>());
    json quantities = json::object();
    for (const auto& [name, amount] : total) quantities[name] = to_quantity(name, amount).text();
    CHECK(quantities == output.value("totalQuantities", json::object()));
  }

  if (other_requests) return;
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

ResourceList requests_of(const json& pod_spec, const std::vector<json>& limit_ranges) {
  json specs = json::array();
  for (const json& items : limit_ranges) specs.push_back({{"limits", items}});
  const Cluster cluster(json{{"limitRanges", specs}});
  const PodSpec spec(pod_spec);
  return pod_requests(adjusted_resources(spec, cluster.defaults_for(spec)));
}

ResourceList list_of(const json& list) {
  return read_resource_list(list);
}

TEST_CASE("pod requests: a limit is the request before a LimitRange has a default for it") {
  const json range = {{{"type", "Container"},
                       {"default", {{"cpu", "2"}, {"memory", "2Gi"}}},
                       {"defaultRequest", {{"cpu", "1"}, {"memory", "1Gi"}}}}};
  const json limited = {{"name", "c"}, {"resources", {{"limits", {{"cpu", "3"}}}}}};
  const json bare = {{"name", "d"}};
  CHECK(requests_of({{"containers", {limited}}}, {range}) == list_of({{"cpu", "3"}, {"memory", "1Gi"}}));
  CHECK(requests_of({{"containers", {bare}}}, {range}) == list_of({{"cpu", "1"}, {"memory", "1Gi"}}));
  CHECK(requests_of({{"initContainers", {limited}}, {"containers", {bare}}}, {range}) ==
        list_of({{"cpu", "3"}, {"memory", "1Gi"}}));
  json sidecar = limited;
  sidecar["restartPolicy"] = "Always";
  CHECK(requests_of({{"initContainers", {sidecar}}, {"containers", {bare}}}, {range}) ==
        list_of({{"cpu", "4"}, {"memory", "2Gi"}}));
  const json whole = {{"resources", {{"limits", {{"cpu", "5"}}}}}, {"containers", {bare}}};
  CHECK(requests_of(whole, {range}) == list_of({{"cpu", "5"}, {"memory", "1Gi"}}));
  // LimitRanges for pods have no defaults on an API server; a Workload that it has not seen can have a namespace with
  // some.
  const json pod_range = {{{"type", "Pod"}, {"defaultRequest", {{"cpu", "1"}}}}};
  CHECK(requests_of(whole, {pod_range}) == list_of({{"cpu", "5"}}));
}

TEST_CASE(
    "pod requests: the largest default of several LimitRanges counts, in whichever order the API server has them") {
  const auto range = [](const char* cpu) {
    return json{{{"type", "Container"}, {"default", {{"cpu", cpu}}}, {"defaultRequest", {{"cpu", cpu}}}}};
  };
  const json pod = {{"containers", {{{"name", "c"}}}}};
  CHECK(requests_of(pod, {range("1"), range("2")}) == list_of({{"cpu", "2"}}));
  CHECK(requests_of(pod, {range("2"), range("1")}) == list_of({{"cpu", "2"}}));
}

TEST_CASE("pod requests: the larger of the pod as a whole and its containers counts") {
  const auto asked = [](const char* whole, const char* container) {
    return requests_of({{"resources", {{"requests", {{"cpu", whole}, {"nvidia.com/gpu", "8"}}}}},
                        {"overhead", {{"cpu", "1"}}},
                        {"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", container}}}}}}}}},
                       {});
  };
  CHECK(asked("1m", "2") == list_of({{"cpu", "3"}}));
  CHECK(asked("4", "2") == list_of({{"cpu", "5"}}));
}

TEST_CASE("pod requests: a transformation reads what is excluded, as its input and as its factor") {
  QueueSettings settings;
  settings.exclude_resource_prefixes = {"acme.io/"};
  settings.transformations = {{.input = "acme.io/cores",
                               .retain = true,
                               .multiply_by = "acme.io/count",
                               .outputs = read_resource_list({{"quota.io/total", "1"}, {"acme.io/credits", "7"}})}};
  const auto charged = [&](const json& requests) { return quota_requests(read_resource_list(requests), settings); };
  CHECK(charged({{"cpu", "1"}, {"acme.io/cores", "20"}, {"acme.io/count", "2"}}) ==
        Requests{{"cpu", 1000}, {"quota.io/total", 40}});
  CHECK(charged({{"acme.io/cores", "20"}}) == Requests{{"quota.io/total", 20}});
  CHECK(charged({{"acme.io/count", "2"}}).empty());
  settings.exclude_resource_prefixes = {"acme.io/count"};
  settings.transformations[0].retain = false;
  CHECK(charged({{"acme.io/cores", "20"}, {"acme.io/count", "2"}}) ==
        Requests{{"acme.io/credits", 280}, {"quota.io/total", 40}});
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
