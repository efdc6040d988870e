// Jobs of the kinds that rows describe (kinds/rows).
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "test/reconcilers/job/job_vectors.h"
#include "test/reconcilers/job/spark_vectors.h"
#include "test/support/unrecorded_kinds.h"
#include "test/support/vectors.h"

namespace job_kinds_vectors_test {

using namespace muster;
using nlohmann::json;

namespace {

// The recordings merged a status that has no admission into one that had. Quota that is released is not shown.
void drop_released(json& workload) {
  for (const json& condition : array_at(workload, {"status", "conditions"})) {
    if (condition["type"] == "QuotaReserved" && condition["status"] == "False") workload["status"].erase("admission");
  }
}

// What every cluster of the recordings held.
json with_usual_objects(json line) {
  const json flavor = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                       {"kind", "ResourceFlavor"},
                       {"metadata", {{"name", "f1"}}},
                       {"spec",
                        {{"nodeLabels", {{"type", "a"}}},
                         {"tolerations", {{{"key", "spot"}, {"operator", "Exists"}, {"effect", "NoSchedule"}}}}}}};
  const auto pod_class = [](const char* name, int value) {
    return json{{"apiVersion", "scheduling.k8s.io/v1"},
                {"kind", "PriorityClass"},
                {"metadata", {{"name", name}}},
                {"value", value}};
  };
  const json high = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                     {"kind", "WorkloadPriorityClass"},
                     {"metadata", {{"name", "high"}}},
                     {"value", 1000}};
  for (const json& object : {flavor, pod_class("pod-high", 500), pod_class("pod-low", -5), high})
    line["input"]["objects"].push_back(object);
  for (json& workload : line["output"]["workloads"]) drop_released(workload);
  return line;
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("jobs of described kinds take the steps that upstream takes") {
    std::set<std::string> seen;
    for (const json& line : muster::test::load_vectors("job_kinds")) {
      const json& job = object_at(line, {"input", "job"});
      const std::string kind(string_at(job, {"kind"}));
      if (find_described_kind(group_of(string_at(job, {"apiVersion"})), kind) == nullptr) continue;
      seen.insert(kind);
      INFO(line["id"].get<std::string>(), " ", line.value("case", ""));
      const json usual = with_usual_objects(line);
      muster::test::check_job_line(kind == "SparkApplication" ? muster::test::as_kueue_0_20(usual) : usual);
    }
    CHECK(muster::test::kinds_without_lines(seen) == std::set<std::string>());
  }
}

}  // namespace job_kinds_vectors_test
