// What the finished Jobs of a JobSet's attempt mean for the JobSet: its success policy
// and its failure policy. Pure.
//
// Source: JobSet KEP-262 (configurable failure policy) and upstream's behaviour
// (kubernetes-sigs/jobset, pkg/controllers/{failure,success}_policy.go). Reasons and
// messages are upstream's.
#pragma once

#include <string>
#include <vector>

#include "api/jobset.h"
#include "api/texts/event_reasons.h"

namespace muster::reconcilers {

struct Verdict {
  enum class Kind { kGoOn, kFail, kRestart, kRestartJob };
  Kind kind = Kind::kGoOn;
  EventReason reason{};  // of the condition Failed, and of the event; unless kGoOn
  std::string message{};
  bool counts_towards_max = false;  // kRestart, kRestartJob
  // kRestart: of the condition RestartingJobSet, and the name of the rule that decided.
  EventReason restarting_reason = EventReason::kDefaultFailurePolicy;
  std::string rule{};
  // kRestartJob: which Job.
  std::string replicated_job{};
  int32_t job_index = 0;
};

// `failed` are Jobs of the present attempt, at least one. Without a policy any failure fails the
// JobSet. Rules are evaluated in order, each with all failed Jobs: the first matching rule
// decides, and the earliest matching Job is named. When no rule matches, the JobSet restarts
// within maxRestarts. That number limits the restarts of the JobSet and those of its single Jobs
// together. If several failed Jobs need a single restart, one is named; the next call names the
// next.
Verdict judge_failures(const JobSet& jobset, const std::vector<const Job*>& failed);

// An in-place restart would exceed maxRestarts.
Verdict too_many_restarts_in_place();

// As many Jobs of the targeted replicated jobs have succeeded as the policy asks for.
bool has_succeeded(const JobSet& jobset, const std::vector<const Job*>& succeeded);

}  // namespace muster::reconcilers
