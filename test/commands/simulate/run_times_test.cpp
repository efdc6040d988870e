// `muster simulate --from-cluster` and the estimated starts have the same run times.
#include "commands/simulate/run_times.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "commands/simulate/report.h"

namespace muster::test::simulate_run_times_test {
namespace {

using commands::give_run_times;
using forecast::SourceObject;
using nlohmann::json;

constexpr std::string_view kRunTime = "simulate.muster.batch/run-time";
const Timestamp kNow{1'767'268'800, 0};

SourceObject object(json value, bool is_of_others = true) {
  return {.place = "the cluster", .value = std::move(value), .is_of_others = is_of_others};
}

json condition(const char* type, int64_t seconds_ago) {
  return {{"type", type},
          {"status", "True"},
          {"reason", type},
          {"message", ""},
          {"lastTransitionTime", format_rfc3339({kNow.seconds - seconds_ago, 0})}};
}

json workload(const std::string& name) {
  return {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
          {"kind", "Workload"},
          {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", name}}},
          {"spec",
           {{"queueName", "lq"},
            {"podSets",
             {{{"name", "main"},
               {"count", 1},
               {"template",
                {{"spec", {{"containers", {{{"name", "c"}, {"resources", {{"requests", {{"cpu", "1"}}}}}}}}}}}}}}}}}};
}

json finished(const std::string& name, int64_t seconds) {
  json made = workload(name);
  made["status"]["admission"] = {{"clusterQueue", "cq"}, {"podSetAssignments", json::array()}};
  made["status"]["conditions"] = {condition("QuotaReserved", seconds + 60), condition("Admitted", seconds + 60),
                                  condition("Finished", 60)};
  return made;
}

std::vector<SourceObject> cluster(const json& asked, int64_t seconds) {
  std::vector<SourceObject> objects = {object({{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                                               {"kind", "LocalQueue"},
                                               {"metadata", {{"name", "lq"}, {"namespace", "team"}}},
                                               {"spec", {{"clusterQueue", "cq"}}}})};
  for (int i = 0; i < 9; ++i) objects.push_back(object(finished("over-" + std::to_string(i), seconds + 60 * i)));
  objects.push_back(object(asked));
  return objects;
}

// In seconds, as the simulation reads it; 0: none was given.
int64_t given(const SourceObject& source) {
  const auto& annotations = source.value["metadata"].value("annotations", json::object());
  return annotations.contains(kRunTime) ? std::stoll(annotations[std::string(kRunTime)].get<std::string>()) : 0;
}

}  // namespace

TEST_CASE("simulate: run times of a cluster are those of its finished Workloads, the longer the share") {
  std::vector<int64_t> times;
  for (const double share : {0.1, 0.5, 0.9}) {
    std::vector<SourceObject> objects = cluster(workload("waits"), 600);
    const auto known = give_run_times(objects, share, to_time_point(kNow));
    CHECK(known.basis.history);
    CHECK(known.finished.at("team/lq") == 9);
    times.push_back(given(objects.back()));
  }
  CHECK(times[0] > 0);
  CHECK(times[0] < times[1]);
  CHECK(times[1] < times[2]);
  CHECK(times[1] >= 600);
  CHECK(times[1] <= 1080);
}

TEST_CASE("simulate: one that has run longer than all before goes on, and what is not of a cluster stays") {
  json running = workload("runs");
  running["status"]["conditions"] = {condition("QuotaReserved", 5000), condition("Admitted", 5000)};
  std::vector<SourceObject> objects = cluster(running, 600);
  give_run_times(objects, 0.5, to_time_point(kNow));
  CHECK(given(objects.back()) > 5000);

  objects = cluster(workload("mine"), 600);
  objects.back().is_of_others = false;
  give_run_times(objects, 0.5, to_time_point(kNow));
  CHECK(given(objects.back()) == 0);
}

TEST_CASE("simulate: nothing known, and pods that serve, get no run time") {
  std::vector<SourceObject> alone = {object(workload("waits"))};
  CHECK(give_run_times(alone, 0.5, to_time_point(kNow)).basis == StartBasis());
  CHECK(given(alone.back()) == 0);

  json serves = workload("serves");
  serves["metadata"]["ownerReferences"] = {
      {{"apiVersion", "apps/v1"}, {"kind", "StatefulSet"}, {"name", "s"}, {"uid", "u"}, {"controller", true}}};
  std::vector<SourceObject> objects = cluster(serves, 600);
  give_run_times(objects, 0.5, to_time_point(kNow));
  CHECK(given(objects.back()) == 0);

  json limited = workload("limited");
  limited["spec"]["maximumExecutionTimeSeconds"] = 1000;
  alone = {object(limited)};
  CHECK(give_run_times(alone, 0.5, to_time_point(kNow)).basis.maximum_times);
  CHECK(given(alone.back()) == 500);
}

}  // namespace muster::test::simulate_run_times_test
