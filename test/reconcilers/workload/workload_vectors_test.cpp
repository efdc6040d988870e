// Backoff, order and life of Workloads against what Kueue was seen to do.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "reconcilers/workload/backoff.h"
#include "reconcilers/workload/workload.h"
#include "scheduler/eligibility.h"
#include "test/support/vectors.h"

namespace workload_vectors_test {

using namespace muster;
using namespace muster::reconcilers;
using nlohmann::json;

namespace {

const TimePoint kNow = to_time_point(*parse_rfc3339("2026-01-01T12:00:00Z"));

std::vector<json> lines_of(const std::string& kind) {
  std::vector<json> found;
  const auto lines = muster::test::load_vectors("backoff");
  for (const json& line : lines) {
    if (line["input"]["kind"] == kind) found.push_back(line);
  }
  return found;
}

Timestamp after_now(const std::string& offset) {
  return to_timestamp(kNow + *parse_duration(offset));
}

json count_or_null(const RequeueState& state) {
  return state.count ? json(*state.count) : json();
}

std::optional<WaitForPodsReady> read_wait(const json& input) {
  const json* wait = find_path(input, {"waitForPodsReady"});
  if (wait == nullptr || wait->is_null()) return std::nullopt;
  WaitForPodsReady settings;
  settings.timeout = *parse_duration((*wait)["timeout"].get<std::string>());
  if (wait->contains("recoveryTimeout"))
    settings.recovery_timeout = *parse_duration((*wait)["recoveryTimeout"].get<std::string>());
  if (wait->contains("backoffLimitCount"))
    settings.requeuing.backoff_limit_count = (*wait)["backoffLimitCount"].get<int32_t>();
  settings.requeuing.backoff_base_seconds = (*wait)["backoffBaseSeconds"];
  settings.requeuing.backoff_max_seconds = (*wait)["backoffMaxSeconds"];
  settings.requeuing.backoff_jitter = 0.0001;
  return settings;
}

// Conditions and checks by name, without what is only another way to say nothing.
json seen(const json& workload) {
  json status = workload.value("status", json::object());
  json conditions = json::object();
  for (json condition : status.value("conditions", json::array())) {
    if (condition.value("observedGeneration", 0) == 0) condition.erase("observedGeneration");
    conditions[condition["type"].get<std::string>()] = condition;
  }
  status["conditions"] = conditions;
  if (status.contains("requeueState") && status["requeueState"].empty()) status.erase("requeueState");
  return {{"status", status}, {"active", workload["spec"].value("active", true)}};
}

const json* condition_of(const json& workload, const char* type) {
  for (const json& condition : array_at(workload, {"status", "conditions"})) {
    if (condition["type"] == type) return &condition;
  }
  return nullptr;
}

// Why an inactive Workload is, as far as it says: empty for a person's doing.
std::string cause_of(const json& workload) {
  const json* evicted = condition_of(workload, "Evicted");
  if (evicted != nullptr && (*evicted)["status"] == "True") return (*evicted)["reason"];
  const json* target = condition_of(workload, "DeactivationTarget");
  return target == nullptr ? "" : "DeactivatedDueTo" + (*target)["reason"].get<std::string>();
}

// What muster does otherwise on purpose (docs/design: requeueState, reactivation).
void apply_rules(const json& before, json& expected) {
  const bool active = before["spec"].value("active", true);
  const json* state = find_path(before, {"status", "requeueState"});
  const std::string cause = cause_of(before);
  const bool kept = !cause.starts_with("DeactivatedDueTo") || cause.ends_with("RequeuingLimitExceeded");
  if (!active && state != nullptr && kept) expected["status"]["requeueState"] = *state;

  const json* requeued = condition_of(before, "Requeued");
  const bool waits = find_path(before, {"status", "requeueState", "requeueAt"}) != nullptr;
  if (!active || waits || requeued == nullptr || (*requeued)["status"] != "False") return;
  if (!(*requeued)["reason"].get<std::string>().starts_with("DeactivatedDueTo")) return;
  expected = seen(before);
  expected["status"].erase("requeueState");
  expected["status"]["conditions"]["Requeued"] = {{"type", "Requeued"},
                                                  {"status", "True"},
                                                  {"reason", "Reactivated"},
                                                  {"message", "The workload was reactivated"},
                                                  {"lastTransitionTime", "2026-01-01T12:00:00Z"}};
}

struct Pass {
  json workload;
  json events = json::array();
  json again_after{};
};

Pass run(const json& input) {
  state::ClusterState state;
  for (const json& object : input["objects"]) {
    for (const ResourceType* type : {&kClusterQueues, &kLocalQueues, &kAdmissionChecks}) {
      if (object["kind"] == type->kind) state.put_watched(read_object(*type, object));
    }
  }
  Pass pass{.workload = input["workload"]};
  state.put_watched(read_object(kWorkloads, pass.workload));
  const state::SchedulerDriver decisions{QueueSettings()};
  ReconcilerSettings settings;
  settings.queues.wait_for_pods_ready = read_wait(input);
  const ObjectKey key{&kWorkloads, pass.workload["metadata"]["namespace"], pass.workload["metadata"]["name"]};
  const Plan plan = workload_reconciler.reconcile(key, {state, decisions, settings, {kNow, MonotonicTime()}});
  REQUIRE(plan.writes.size() <= 1);
  for (const Write& write : plan.writes) {
    pass.workload.merge_patch(write.body);
    for (const ObjectEvent& event : write.events) {
      pass.events.push_back(
          {{"object", event.regarding.name}, {"type", event.type}, {"reason", event.reason}, {"message", event.note}});
    }
  }
  if (plan.writes.empty() && plan.again_at)
    pass.again_after = std::chrono::duration_cast<std::chrono::seconds>(*plan.again_at - kNow).count();
  return pass;
}

}  // namespace

TEST_SUITE("vectors") {
  TEST_CASE("backoff: the delay doubles from the base to the cap and jitter stays in its bounds") {
    for (const json& line : lines_of("requeue")) {
      const json& input = line["input"];
      const std::string id = line["id"];
      CAPTURE(id);
      RequeueState state;
      if (input.contains("count")) state.count = input["count"].get<int32_t>();
      RequeuingStrategy strategy;
      strategy.backoff_base_seconds = input["baseSeconds"];
      strategy.backoff_max_seconds = input["maxSeconds"];
      strategy.backoff_jitter = 0.0001;
      const Duration least = reconcilers::backoff_delay(state.count.value_or(0) + 1, strategy.backoff_base_seconds,
                                                        strategy.backoff_max_seconds);
      CHECK(std::to_string(least.count()) == line["output"]["delayMinNanoseconds"]);
      CHECK(std::to_string(least.count() + least.count() / 10'000) == line["output"]["delayMaxNanoseconds"]);
      reconcilers::count_eviction(state, strategy, "some-uid", kNow);
      CHECK(state.count == line["output"]["newCount"]);
      const Duration delay = to_time_point(state.requeue_at) - kNow;
      CHECK(delay >= least);
      CHECK(delay <= least + least / 10'000);
      CHECK(line["output"]["samplesInBounds"] == true);
    }
  }

  TEST_CASE("backoff: requeueAt is never moved to an earlier time") {
    for (const json& line : lines_of("setRequeueAt")) {
      const json& input = line["input"];
      const std::string id = line["id"];
      CAPTURE(id);
      RequeueState state;
      if (input.contains("current")) state.requeue_at = after_now(input["current"]);
      const bool updated = reconcilers::set_requeue_at(state, after_now(input["wanted"]), input["increment"]);
      CHECK(updated == line["output"]["updated"]);
      CHECK(count_or_null(state) == line["output"]["count"]);
      CHECK(format_duration(to_time_point(state.requeue_at) - kNow) == line["output"]["requeueAtOffset"]);
    }
  }

  TEST_CASE("backoff: one pass over a Workload writes and tells what upstream does") {
    for (const json& line : lines_of("reconcile")) {
      const std::string id = line["id"];
      CAPTURE(id);
      const Pass pass = run(line["input"]);
      json expected = seen(line["output"]["workload"]);
      apply_rules(line["input"]["workload"], expected);
      CHECK(seen(pass.workload) == expected);
      CHECK(pass.events == line["output"]["events"]);
      CHECK(pass.again_after == line["output"].value("requeueAfterSeconds", json()));
    }
  }
}

}  // namespace workload_vectors_test
