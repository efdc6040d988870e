// The input of one rule, and an observer of rules.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "api/config/rule_settings.h"
#include "api/review/admission_review.h"
#include "api/review/cluster_view.h"

namespace muster {

// One request with everything a rule can read. References live for one review.
struct Review {
  const AdmissionRequest& request;
  const ClusterView& view;
  const RuleSettings& settings;
};

// The requests that a rule matches. A test compares them with the webhook configurations.
struct RuleMatch {
  std::string_view group;     // "batch"
  std::string_view resource;  // "jobs", or with a subresource "workloads/status"

  bool operator==(const RuleMatch&) const = default;
};

// Every kind of job that muster queues (queued_types()).
inline constexpr RuleMatch kQueuedJobs{"*", "queued jobs"};
// What a match stands for: itself, or the kinds of kQueuedJobs.
std::vector<RuleMatch> expand(const RuleMatch& match);

// Whether a rule matches a request: requests of a subresource only if the rule names it.
bool applies(std::span<const RuleMatch> matches, std::span<const Operation> operations,
             const AdmissionRequest& request);

// An UPDATE of an object that is on its way out. What it can change without a
// rule: api/review/deletion.h.
bool being_deleted(const AdmissionRequest& request);

enum class RuleOutcome { kUnchanged, kChanged, kAllowed, kRejected };

// Called for every rule that runs, in order, so that the server can measure rules while the rules have no clock. Called
// on the thread of the review.
class RuleObserver {
 public:
  virtual ~RuleObserver() = default;
  // Whether to distinguish kChanged from kUnchanged, which costs a comparison of the whole object after each mutator;
  // otherwise a mutator ends as kUnchanged.
  virtual bool wants_changes() const { return true; }
  virtual void started(std::string_view rule) = 0;
  virtual void finished(std::string_view rule, RuleOutcome outcome) = 0;
};

}  // namespace muster
