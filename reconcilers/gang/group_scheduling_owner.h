// The owner of a gang, a JobSet or a Job: what the group reconciler needs to know of it,
// and what it writes to it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/job.h"
#include "api/jobset.h"
#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

inline constexpr std::string_view kGroupStartedCondition = "GroupStarted";
inline constexpr std::string_view kWaitingForPods = "WaitingForPods";
inline constexpr std::string_view kAllPodsStarted = "AllPodsStarted";
inline constexpr std::string_view kGroupSchedulingTimeout = "GroupSchedulingTimeout";
// It ended for another reason, before it had started.
inline constexpr std::string_view kEndedBeforeStart = "EndedBeforeStart";
// An object that muster did not create has the name of the gang's ConfigMap.
inline constexpr std::string_view kConfigMapNameConflict = "ConfigMapNameConflict";
// The API server refuses the gang's ConfigMap.
inline constexpr std::string_view kConfigMapCreationFailed = "ConfigMapCreationFailed";

struct GangOwner {
  ObjectKey key;
  const JobSet* jobset = nullptr;  // one of the two
  const Job* job = nullptr;
  Barrier barrier;  // of its first target

  const ObjectMeta& meta() const { return jobset != nullptr ? jobset->meta : job->meta; }
  const Conditions& conditions() const {
    return jobset != nullptr ? jobset->status.conditions : job->status.conditions;
  }
  bool suspended() const { return jobset != nullptr ? jobset->suspended : job->suspended; }
  bool finished() const { return jobset != nullptr ? jobset->finished() : job->finished(); }
  // Finished or finishing: muster cannot change it.
  bool ends() const;
  // Ends by being suspended, not by failing. Always so in a queue, where it is tried again.
  bool suspends_on_timeout() const;
  ObjectKey config_map() const { return {&kConfigMaps, meta().ns, barrier.config_map}; }
};

// nullopt: no such object, no gang, being deleted, or managed by another controller.
std::optional<GangOwner> find_gang_owner(const ObjectKey& key, const state::ClusterState& state);

ObjectEvent event_on(const GangOwner& owner, EventReason reason, std::string note);
// The ConfigMap, with these decisions.
Write create_config_map(const GangOwner& owner, nlohmann::json data);
// Conditions with GroupStarted as given; nullopt when it is so already.
std::optional<Write> write_group_started(const GangOwner& owner, bool is_true, std::string_view reason,
                                         std::string_view message, TimePoint now);
// Fails or suspends the owner, whose condition says why already. A queued one leaves by
// eviction: its reconciler stops it, and it waits for its next turn.
std::optional<Write> end_owner(const GangOwner& owner, const ReconcileContext& context, const std::string& message);
// Before Kubernetes 1.36 the Job controller leaves startTime on a suspended Job, and the
// API server refuses a new epoch in the template of such a Job. From 1.36 on there is
// nothing to clear once the Job is at rest.
std::optional<Write> clear_start_time(const GangOwner& owner);

}  // namespace muster::reconcilers
