#include "reconcilers/jobset/jobset_policies.h"

#include <re2/re2.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "api/meta/constants.h"
#include "base/whole_number.h"

namespace muster::reconcilers {
namespace {

constexpr std::string_view kReachedMaxRestartsMessage = "jobset failed due to reaching max number of restarts";

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

const Condition& failure_of(const Job& job) {
  static const Condition kNone{};
  const Condition* condition = find_condition(job.status.conditions, "Failed");
  return condition == nullptr ? kNone : *condition;
}

// Go's regexp package follows RE2: the same syntax, and a time that is linear in the message for every pattern.
// A pattern that does not compile matches no message.
bool matches(const std::string& pattern, const std::string& message) {
  const RE2 expression(pattern, RE2::Quiet);
  return expression.ok() && RE2::PartialMatch(message, expression);
}

bool fits(const FailureRule& rule, const Job& job) {
  const Condition& failure = failure_of(job);
  if (!rule.reasons.empty() && !contains(rule.reasons, failure.reason)) return false;
  const std::string_view replicated_job = job.meta.label(kReplicatedJobNameKey);
  if (replicated_job.empty()) return false;
  if (!rule.targets.empty() && !contains(rule.targets, replicated_job)) return false;
  return rule.message_patterns.empty() ||
         std::any_of(rule.message_patterns.begin(), rule.message_patterns.end(),
                     [&](const std::string& pattern) { return matches(pattern, failure.message); });
}

bool failed_before(const Job* one, const Job* other) {
  return failure_of(*one).last_transition < failure_of(*other).last_transition;
}

std::string naming(std::string_view message, const Job& first_failed) {
  return std::string(message) + " (first failed job: " + first_failed.meta.name + ")";
}

struct ActionTexts {
  FailureAction action;
  EventReason reason;
  std::string_view message;
};
constexpr ActionTexts kRestarts[] = {
    {FailureAction::kRestartJobSet, EventReason::kRestartJobSetAction, "applying RestartJobSet failure policy action"},
    {FailureAction::kRestartJobSetAndIgnoreMaxRestarts, EventReason::kRestartJobSetAndIgnoreMaxRestartsAction,
     "applying RestartJobSetAndIgnoreMaxRestarts failure policy action"},
    {FailureAction::kRestartJob, EventReason::kRestartJobAction, "applying RestartJob failure policy action"},
    {FailureAction::kRestartJobAndIgnoreMaxRestarts, EventReason::kRestartJobAndIgnoreMaxRestartsAction,
     "applying RestartJobAndIgnoreMaxRestarts failure policy action"},
};

bool restarts_one(FailureAction action) {
  return action == FailureAction::kRestartJob || action == FailureAction::kRestartJobAndIgnoreMaxRestarts;
}

bool ignores_max(FailureAction action) {
  return action == FailureAction::kRestartJobSetAndIgnoreMaxRestarts ||
         action == FailureAction::kRestartJobAndIgnoreMaxRestarts;
}

// The names and labels of the Jobs of a run follow from the JobSet (reconcilers/jobset/jobset_attempt.h).
int32_t index_of(const Job& job) {
  return whole_number<int32_t>(job.meta.label(kJobIndexKey)).value_or(0);
}

// `rule`: the name of the rule that decided; empty: none matches.
Verdict act(const JobSet& jobset, FailureAction action, const Job& job, std::string rule) {
  if (action == FailureAction::kFailJobSet) {
    return {.kind = Verdict::Kind::kFail,
            .reason = EventReason::kFailJobSetAction,
            .message = naming("applying FailJobSet failure policy action", job)};
  }
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  const std::string replicated_job(job.meta.label(kReplicatedJobNameKey));
  const int32_t index = index_of(job);
  const int32_t restarts =
      restarts_one(action) ? jobset.status.job_restarts_of(replicated_job, index) : jobset.status.restarts;
  const bool within_max = ignores_max(action) || jobset.status.restarts_towards_max() < jobset.failure->max_restarts;
  if (!within_max || restarts == kMost) {
    return {.kind = Verdict::Kind::kFail,
            .reason = EventReason::kReachedMaxRestarts,
            .message = naming(kReachedMaxRestartsMessage, job)};
  }
  const ActionTexts& texts = *std::find_if(std::begin(kRestarts), std::end(kRestarts),
                                           [&](const ActionTexts& each) { return each.action == action; });
  return {.kind = restarts_one(action) ? Verdict::Kind::kRestartJob : Verdict::Kind::kRestart,
          .reason = texts.reason,
          .message = naming(texts.message, job),
          .counts_towards_max = !ignores_max(action),
          .restarting_reason = rule.empty() ? EventReason::kDefaultFailurePolicy : EventReason::kFailurePolicyRule,
          .rule = std::move(rule),
          .replicated_job = restarts_one(action) ? replicated_job : "",
          .job_index = restarts_one(action) ? index : 0};
}

}  // namespace

Verdict judge_failures(const JobSet& jobset, const std::vector<const Job*>& failed) {
  if (failed.empty()) return {};
  const Job& first = **std::min_element(failed.begin(), failed.end(), failed_before);
  if (!jobset.failure) {
    return {.kind = Verdict::Kind::kFail,
            .reason = EventReason::kFailedJobs,
            .message = naming("jobset failed due to one or more job failures", first)};
  }
  for (size_t i = 0; i < jobset.failure->rules.size(); ++i) {
    const FailureRule& rule = jobset.failure->rules[i];
    const Job* earliest = nullptr;
    for (const Job* job : failed) {
      if (fits(rule, *job) && (earliest == nullptr || failed_before(job, earliest))) earliest = job;
    }
    if (earliest == nullptr) continue;
    // The webhook names the rules that have no name.
    const std::string name = rule.name.empty() ? "failurePolicyRule" + std::to_string(i) : rule.name;
    return act(jobset, rule.action, *earliest, name);
  }
  return act(jobset, FailureAction::kRestartJobSet, first, "");
}

Verdict too_many_restarts_in_place() {
  return {.kind = Verdict::Kind::kFail,
          .reason = EventReason::kReachedMaxRestarts,
          .message = std::string(kReachedMaxRestartsMessage)};
}

bool has_succeeded(const JobSet& jobset, const std::vector<const Job*>& succeeded) {
  if (succeeded.empty()) return false;
  const auto targeted = [&](std::string_view name) {
    return jobset.success.targets.empty() || contains(jobset.success.targets, name);
  };
  const auto have = std::count_if(succeeded.begin(), succeeded.end(),
                                  [&](const Job* job) { return targeted(job->meta.label(kReplicatedJobNameKey)); });
  if (jobset.success.op == PolicyOperator::kAny) return have >= 1;
  int64_t wanted = 0;
  for (const ReplicatedJob& replicated : jobset.replicated_jobs) {
    if (targeted(replicated.name)) wanted += replicated.replicas;
  }
  return have >= wanted;
}

}  // namespace muster::reconcilers
