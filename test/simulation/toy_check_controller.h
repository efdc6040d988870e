// An admission check controller for tests: Ready 5 s after the quota was reserved, and once, another 5 s later, Retry.
#pragma once

#include <array>
#include <chrono>
#include <string>

#include "api/workload_conditions.h"
#include "reconcilers/checks/check_controller.h"

namespace muster::test {

inline constexpr std::string_view kToyController = "example.com/toy";
inline constexpr int kToyRetrySeconds = 20;

inline reconcilers::CheckVerdict judge_toy(const reconcilers::CheckContext& context, const AdmissionCheck&,
                                           reconcilers::Plan& plan) {
  using std::chrono::seconds;
  const Condition* reserved = find_condition(context.workload.status.conditions, kQuotaReservedCondition);
  const TimePoint ready_at = to_time_point(reserved->last_transition) + seconds(5);
  const TimePoint retry_at = ready_at + seconds(5);
  const bool retried = context.known.retry_count.value_or(0) > 0;
  if (context.now.wall < ready_at) {
    plan.wake_at(ready_at);
    return {.state = kCheckPending, .message = "waits 5 s"};
  }
  if (!retried && context.now.wall >= retry_at)
    return {.state = kCheckRetry, .message = "once more", .requeue_after_seconds = kToyRetrySeconds};
  if (!retried) plan.wake_at(retry_at);
  PodSetUpdate update;
  update.name = context.workload.pod_sets.front().name;
  update.annotations = {{"example.com/toy", "ready"}};
  return {.state = kCheckReady, .message = "ready", .pod_set_updates = {std::move(update)}};
}

// Active unless its annotation says "off".
inline reconcilers::CheckActive toy_active(const reconcilers::ReconcileContext&, const AdmissionCheck& check) {
  if (check.meta.annotation("example.com/toy") != "off") return {};
  return {.active = false, .reason = "Off", .message = "the annotation example.com/toy is off"};
}

inline constexpr reconcilers::CheckController kToy = {
    .name = kToyController,
    .active = toy_active,
    .judge = judge_toy,
    .explain = [](const reconcilers::CheckContext&, const AdmissionCheck& check) {
      return "The toy answers " + check.meta.name + " 5 s after the reservation.";
    }};
inline constexpr std::array<const reconcilers::CheckController*, 1> kToyControllers = {&kToy};

}  // namespace muster::test
