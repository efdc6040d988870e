#include "api/preemption_protection.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/cluster_queue.h"
#include "api/meta/constants.h"

namespace preemption_protection_test {

using namespace muster;
using namespace std::chrono_literals;
using nlohmann::json;

namespace {

json with(const json& annotations) {
  return {{"metadata", {{"name", "q"}, {"annotations", annotations}}}, {"value", 7}};
}

}  // namespace

TEST_CASE("protection: a ClusterQueue and a WorkloadPriorityClass have it from their annotations") {
  const json object = with({{"muster.batch/preemption-protection", "1h30m"},
                            {"muster.batch/reclaim-protection", "0s"},
                            {"muster.batch/preemption-protection-limit", "90s"}});
  const PreemptionProtection all{.in_queue = 90min, .reclaim = 0s, .limit = 90s};
  CHECK(read_cluster_queue(object)->protection == all);
  CHECK(read_priority_class(object, false)->protection == all);
  // A class of pods protects nothing.
  CHECK(read_priority_class(object, true)->protection == PreemptionProtection{});
  CHECK(read_cluster_queue(with(json::object()))->protection == PreemptionProtection{});
}

TEST_CASE("protection: a value that the webhook refuses counts as none and a long one as a week") {
  for (const char* text : {"", "10", "-5s", "soon"}) {
    CAPTURE(text);
    CHECK_FALSE(read_cluster_queue(with({{kPreemptionProtectionAnnotation, text}}))->protection.in_queue);
  }
  CHECK(read_cluster_queue(with({{kPreemptionProtectionAnnotation, "9000h"}}))->protection.in_queue ==
        kLongestProtection);
}

}  // namespace preemption_protection_test
