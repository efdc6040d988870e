// Which jobs the queues manage: the questions that Kueue's rules share.
//
// A job is queued when it carries a queue name, or when the settings manage jobs
// without one in its namespace; but never when an ancestor is managed already, for
// then the ancestor's pods are what is counted. Source: Kueue, jobframework (the
// facts are in its documentation of manageJobsWithoutQueueName and ownership).
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/review/review.h"
#include "base/result.h"
#include "jobs/job_kind.h"

namespace muster::jobs {

// Why a question about a job has no answer.
struct Undecided {
  std::string message;
  // The answer comes with time: the view has not caught up with the cluster.
  bool retry = false;
  // An owner is not in the view: it is too new, or it does not exist. Otherwise only a change of the object can lead to
  // an answer: its owners form a cycle, or are too many.
  bool absent_owner = false;
  bool too_many_owners = false;
};

// The kind under review when its integration is enabled (integrations.frameworks); nullptr when Kueue's rules do not
// apply to it.
const JobKind* enabled_kind(const Review& review);

// Whether a job of the kind gets the defaults of its namespace with this request: when it is made, and what serves with
// every update.
bool gets_defaults(const Review& review);

// The same, unless the request is an update that Kueue's rules about labels and annotations leave alone: that of a Ray
// or Spark job that is in no queue, and was in none (gate ValidateRayAndSparkJobUpdates).
const JobKind* checked_kind(const Review& review);

// The same, unless this request is an update of a kind whose labels are validated only at the creation.
const JobKind* kind_of_checked_forms(const Review& review);

// request.namespace; metadata.namespace where a caller left that empty.
std::string_view namespace_of(const AdmissionRequest& request);

// The label kueue.x-k8s.io/queue-name; empty when absent.
std::string_view queue_name_of(const nlohmann::json& object);

// Whether the object asks for elastic job slices and the gate ElasticJobsViaWorkloadSlices is on.
bool is_elastic(const RuleSettings& settings, const nlohmann::json& object);

// Whether managedJobsNamespaceSelector matches the namespace. For a namespace that
// the view does not know, the label that every namespace has
// (kubernetes.io/metadata.name) must be enough to tell.
Result<bool, Undecided> in_managed_namespace(const Review& review);
// The same of a namespace with these labels; nullptr when it is not known.
Result<bool, Undecided> in_managed_namespace(const RuleSettings& settings, std::string_view name, const Labels* labels);

// Whether the direct controller is of an enabled kind, queued or not: such an object itself gets no
// defaults.
bool has_enabled_controller(const RuleSettings& settings, const nlohmann::json& object);

// A controller, near or far, that is queued; the topmost, whose Workload counts the pods.
struct ManagedAncestor {
  std::string kind;
  std::string name;
  std::string uid;
  bool external = false;  // of integrations.externalFrameworks
};
// Walks the controllers upwards, at most ten, and finds the topmost one of an enabled kind that is
// managed; nullopt when none is. A controller of a known kind must exist, unless `owners_are_known`: its absence is an
// error, and so is a cycle. A controller with another uid is a namesake and ends the walk, and so does a controller of
// an unknown kind outside of the view. So does a controller of a kind that makes no such objects
// (JobKind::find_owned): its Workload does not count their pods, whatever ownerReferences say.
//
// Objects of integrations.externalFrameworks are known through their Workloads: one with a Workload
// (an admitted one, where a review asks) in the same namespace is managed, and ends the walk.
using MaybeAncestor = Result<std::optional<ManagedAncestor>, Undecided>;
MaybeAncestor managed_ancestor(const Review& review, const nlohmann::json& object);
// The same for an object that is given by its metadata; `lookup` finds owners in its namespace, nullopt when
// there is none of that name.
struct MaybeOwned {
  std::string_view group, kind;
  std::string uid;
  std::optional<OwnerReference> controller;
  // An owner that `lookup` does not find does not exist, and ends the walk.
  bool owners_are_known = false;
};
using OwnerLookup = std::function<std::optional<OwnerFacts>(const OwnerReference& owner)>;
MaybeAncestor managed_ancestor(const RuleSettings& settings, const OwnerLookup& lookup, MaybeOwned object);

// Whether the object is a queued job, by all rules above.
Result<bool, Undecided> is_queued(const Review& review, const nlohmann::json& object);
// The same for every owner: it has a queue name, or the settings manage it without one. True when its namespace is not
// known yet.
bool is_queued_by_itself(const Review& review, const nlohmann::json& object);

// Whether the object under review is of an enabled kind and is queued; false while that is not known.
bool is_queued_here(const Review& review);

// Whether the sender can start queued jobs, and makes the Jobs of JobSets (RuleSettings::admitters).
bool is_admitter(const Review& review);

// 'JobSet "train"', for messages.
std::string text_of(const ManagedAncestor& ancestor);

}  // namespace muster::jobs
