// How long muster takes: to create a Workload, and to remove the gates of its pods.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "state/metrics/measurements.h"
#include "test/support/measurements.h"

namespace latencies_test {

using namespace muster;
using namespace muster::state;
using namespace muster::test;
using Texts = std::vector<std::string>;

namespace {

WorkloadPtr admitted_workload() {
  return read_workload({{"metadata", {{"namespace", "team-a"}, {"name", "wl"}}},
                        {"spec", {{"queueName", "lq"}, {"podSets", nlohmann::json::array()}}},
                        {"status",
                         {{"admission", {{"clusterQueue", "cq"}}},
                          {"conditions",
                           {{{"type", "Admitted"},
                             {"status", "True"},
                             {"reason", "Admitted"},
                             {"lastTransitionTime", "2026-01-01T12:00:03Z"}}}}}}});
}

}  // namespace

TEST_CASE("measurements: the creation of a Workload, from that of a job as its user has made it") {
  ObjectMeta job;
  job.created = to_timestamp(to_time_point(*parse_rfc3339("2026-01-01T12:00:00Z")));
  job.generation = 1;
  const Timestamp now = *parse_rfc3339("2026-01-01T12:00:07Z");
  RuleSettings rules;
  CHECK(to_texts(creation_of_workload("Job", job, rules, now)) == Texts{"WorkloadCreated kind=Job 7s"});
  // The clock of the API server is ahead.
  CHECK(to_texts(creation_of_workload("Job", job, rules, *parse_rfc3339("2026-01-01T11:59:00Z"))) ==
        Texts{"WorkloadCreated kind=Job"});
  job.generation = 2;
  CHECK(creation_of_workload("Job", job, rules, now).empty());
  job.generation = 1;
  rules.feature_gates.set(Gate::kMetricForWorkloadCreationLatency, false);
  CHECK(creation_of_workload("Job", job, rules, now).empty());
}

TEST_CASE("measurements: the removal of a gate, from the admission") {
  const Timestamp now = *parse_rfc3339("2026-01-01T12:00:07Z");
  const auto admitted = admitted_workload();
  CHECK(to_texts({removal_of_gate("g", *admitted, now)}) == Texts{"PodUngated cq gate=g 4s"});
  CHECK(to_texts({removal_of_gate("g", *admitted, *parse_rfc3339("2026-01-01T12:00:01Z"))}) ==
        Texts{"PodUngated cq gate=g"});
}

}  // namespace latencies_test
