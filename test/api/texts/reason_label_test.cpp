#include "api/texts/reason_label.h"

#include <doctest/doctest.h>

#include <regex>
#include <set>
#include <string>

#include "api/flavor_fallback.h"
#include "api/measurement.h"
#include "api/texts/workload_texts.h"
#include "api/workload_conditions.h"
#include "test/support/vectors.h"

namespace reason_label_test {

using namespace muster;

namespace {

// Of conditions that no metric counts by their reason.
const std::set<std::string_view> kNoLabels = {kQuotaReservedReason,
                                              kAdmittedReason,
                                              kStartedReason,
                                              kRecoveredReason,
                                              kStartedInPartReason,
                                              kWaitForNextPartReason,
                                              kBackoffFinishedReason,
                                              kReactivatedReason,
                                              kClusterQueueRestartedReason,
                                              kLocalQueueRestartedReason,
                                              kSucceededReason,
                                              kFailedReason,
                                              kOutOfSyncReason,
                                              kOwnerNotFoundReason,
                                              kFailedToStartReason,
                                              kReadyReason,
                                              kStoppedReason,
                                              kTerminatingReason,
                                              kFlavorNotFoundReason,
                                              kAdmissionCheckNotFoundReason,
                                              kAdmissionCheckInactiveReason,
                                              kClusterQueueInactiveReason,
                                              kClusterQueueDoesNotExistReason};

}  // namespace

TEST_CASE("reason label: every reason that muster knows is a label of metrics, or is said here to be none") {
  const std::string header = test::read_source_file("api/workload_conditions.h");
  const std::regex constant(R"re(k\w+Reason = "(\w+)";)re");
  size_t found = 0;
  for (std::sregex_iterator match(header.begin(), header.end(), constant), end; match != end; ++match, ++found) {
    const std::string reason = (*match)[1];
    INFO(reason);
    const bool is_label = reason_label(reason) == reason;
    CHECK(is_label != kNoLabels.contains(reason));
  }
  CHECK(found > 40);
}

TEST_CASE("reason label: reasons of others are one label, so that they cannot add series") {
  for (const char* reason : {"Whatever", "quotareserved", "DeactivatedDueToWhatever", "Preempted "})
    CHECK(reason_label(reason) == "other");
  CHECK(reason_label("").empty());
  CHECK(reason_label(kAttemptSuccess) == kAttemptSuccess);
  CHECK(reason_label(deactivated_reason(kFlavorsExhaustedReason)) == "DeactivatedDueToFlavorsExhausted");
  CHECK(reason_label(to_text(FallbackTrigger::kTimeout)) == to_text(FallbackTrigger::kTimeout));
}

}  // namespace reason_label_test
