#include "state/kept_bytes.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "jobs/kept/object_bytes.h"
#include "state/cluster_state.h"
#include "test/support/queue_objects.h"

namespace kept_bytes_test {

using namespace muster;
using namespace muster::test;

namespace {

TypedObject job_of(const std::string& ns, const std::string& name, int version, const std::string& image,
                   size_t bytes = 10'000) {
  json pod_template = pod_template_of({{"cpu", "1"}});
  pod_template["spec"]["containers"][0]["image"] = image + std::string(bytes, 'i');
  return read_object(kJobs, {{"metadata",
                              {{"name", name},
                               {"namespace", ns},
                               {"uid", ns + name},
                               {"resourceVersion", std::to_string(version)},
                               {"labels", {{"a", "b"}}}}},
                             {"spec", {{"template", pod_template}}}});
}

std::string gauges_of(const state::ClusterState& state) {
  std::string text;
  for (const GaugeReading& reading : state.kept_bytes().gauges()) {
    CHECK(reading.value > 0);
    text += (reading.gauge == Gauge::kKeptBytes ? "kind " : "namespace ") + reading.labels[0].value + "; ";
  }
  return text;
}

}  // namespace

TEST_CASE("kept bytes: templates that are shared count once, and nothing is left when all are gone") {
  state::ClusterState state;
  CHECK(gauges_of(state).empty());
  state.put_watched(job_of("team-a", "one", 1, "same"));
  const size_t one = state.kept_bytes().total();
  CHECK(one > 10'000);
  // A text can have room for as much again.
  CHECK(one < 24'000);
  for (int i = 0; i < 10; ++i) state.put_watched(job_of("team-b", "j" + std::to_string(i), 10 + i, "same"));
  CHECK(state.kept_bytes().total() < one + 10 * 1'000);
  CHECK(state.kept_bytes().of_namespace("team-a") == one);
  CHECK(gauges_of(state) == "kind Job; namespace team-a; ");

  // A new version of each with another template.
  for (int i = 0; i < 10; ++i) state.put_watched(job_of("team-b", "j" + std::to_string(i), 30 + i, std::to_string(i)));
  CHECK(state.kept_bytes().of_namespace("team-b") > 10 * 10'000);
  CHECK(state.kept_bytes().of_kind("Job") == state.kept_bytes().total());
  CHECK(gauges_of(state) == "kind Job; namespace team-b; ");

  // The first holder goes before the others.
  for (int i = 0; i < 10; ++i) state.put_watched(job_of("team-b", "j" + std::to_string(i), 50 + i, "same"));
  state.remove_watched(job_of("team-a", "one", 70, "same"));
  CHECK(state.kept_bytes().total() > 10'000);
  for (int i = 0; i < 10; ++i) state.remove_watched(job_of("team-b", "j" + std::to_string(i), 80 + i, "same"));
  CHECK(state.kept_bytes().total() == 0);
  CHECK(gauges_of(state).empty());
}

TEST_CASE("kept bytes: they are the same after the state was built again") {
  state::ClusterState state;
  for (int i = 0; i < 10; ++i)
    state.put_watched(job_of("team-a", "j" + std::to_string(i), 1 + i, std::to_string(i / 2)));
  state.put_watched(read_object(kNamespaces, {{"metadata", {{"name", "team-a"}, {"resourceVersion", "1"}}}}));
  const size_t before = state.kept_bytes().total();
  ObjectKey putting{&kJobs, "", ""};
  state.rebuild([](const TypedObject&) { return true; }, putting);
  CHECK(state.kept_bytes().total() == before);
  state.rebuild([](const TypedObject& object) { return std::holds_alternative<PlainObjectPtr>(object); }, putting);
  CHECK(gauges_of(state) == "kind Namespace; ");
}

TEST_CASE("kept bytes: the objects of a tenant count by what was written into them") {
  const json long_labels = [] {
    json labels = json::object();
    for (int i = 0; i < 1000; ++i) labels["example.com/key-number-" + std::to_string(i)] = "value";
    return labels;
  }();
  const json meta = {{"name", "x"}, {"namespace", "team-a"}, {"labels", long_labels}};
  for (const ResourceType* type :
       {&kJobs, &kJobSets, &kWorkloads, &kConfigMaps, &kServices, &kLimitRanges, &kLocalQueues})
    CHECK(jobs::bytes_of(read_object(*type, {{"metadata", meta}})) > 30'000);
  const json data = {{"metadata", {{"name", "x"}, {"namespace", "team-a"}}},
                     {"data", {{"started", std::string(10'000, 'd')}}}};
  CHECK(jobs::bytes_of(read_object(kConfigMaps, data)) > 10'000);
}

}  // namespace kept_bytes_test
