#include "jobs/pod/pod_group.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/config/rule_settings.h"

namespace pod_group_test {

using namespace muster;
using namespace muster::jobs;
using nlohmann::json;
using std::chrono::seconds;

TEST_CASE("pods: one that is being deleted uses its node until its grace period is over, and with the gate no longer") {
  const json object = {{"apiVersion", "v1"},
                       {"kind", "Pod"},
                       {"metadata",
                        {{"name", "a"},
                         {"namespace", "team-a"},
                         {"uid", "1"},
                         {"deletionTimestamp", "2026-01-01T12:00:00Z"},
                         {"deletionGracePeriodSeconds", 30}}},
                       {"spec", {{"nodeName", "n"}}},
                       {"status", {{"phase", "Running"}}}};
  const QueuedPodPtr pod = read_queued_pod(object);
  const TimePoint deleted = to_time_point(pod->deleted);
  RuleSettings rules;
  rules.feature_gates["FastQuotaReleaseInPodIntegration"] = false;
  CHECK(uses_node(*pod, rules, deleted + seconds(29)));
  CHECK_FALSE(uses_node(*pod, rules, deleted + seconds(30)));
  rules.feature_gates["FastQuotaReleaseInPodIntegration"] = true;
  CHECK_FALSE(uses_node(*pod, rules, deleted));

  json running = object;
  running["metadata"].erase("deletionTimestamp");
  CHECK(uses_node(*read_queued_pod(running), rules, deleted));
}

}  // namespace pod_group_test
