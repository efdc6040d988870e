#include "test/world/invariants/at_rest.h"

#include <algorithm>

#include "api/job.h"
#include "api/pod.h"
#include "api/workload.h"
#include "jobs/job_kind.h"
#include "kinds/typed_object.h"
#include "reconcilers/gang/group_scheduling_owner.h"

namespace muster::world {
namespace {

// Tolerance for decisions at the last moment, and for timestamps of whole seconds.
constexpr Duration kGrace = std::chrono::minutes(1);

class Rest {
 public:
  Rest(const ApiServer& server, TimePoint now, const QueueSettings& settings)
      : server_(server), now_(now), settings_(settings) {
    for (const ObjectPtr& object : server.list(kWorkloads)) workloads_.push_back(read_workload(*object));
  }

  std::vector<std::string> find() {
    for (const WorkloadPtr& workload : workloads_) {
      find_waiting(*workload);
      find_kept(*workload);
      find_late(*workload);
    }
    for (const ObjectPtr& object : server_.list(kJobs)) find_silent(*read_job(*object));
    for (const ObjectPtr& object : server_.list(kPods)) find_late(*read_pod(*object), *object);
    for (const ResourceType* type : {&kJobSets, &kJobs, &kPods, &kWorkloads, &kConfigMaps}) {
      for (const ObjectPtr& object : server_.list(*type)) {
        if (read_meta(*object).deleting) found_.push_back(to_text(key_of(*type, *object)) + " is still being deleted");
      }
    }
    return std::move(found_);
  }

 private:
  static bool holds(const Workload& workload) { return workload.has_quota_reserved() && !workload.finished(); }

  void find_waiting(const Workload& workload) {
    const auto& state = workload.status.requeue_state;
    const bool backs_off = state && to_time_point(state->requeue_at) + kGrace > now_;
    if (holds(workload) || workload.finished() || !workload.active || workload.meta.deleting || backs_off) return;
    const bool idle = std::none_of(workloads_.begin(), workloads_.end(), [](const auto& each) { return holds(*each); });
    if (idle) found_.push_back("Workload " + workload.meta.name + " waits for quota, and none holds any");
  }
  void find_kept(const Workload& workload) {
    if (!holds(workload)) return;
    if (workload.evicted())
      found_.push_back("Workload " + workload.meta.name + " is evicted, and still holds its quota");
    if (!workload.meta.controller) return;
    const OwnerReference& owner = *workload.meta.controller;
    const jobs::JobKind* kind = jobs::find_job_kind(owner);
    if (kind == nullptr || kind == &jobs::plain_pod) return;
    const ObjectPtr object = server_.get({&kind->type, workload.meta.ns, owner.name});
    if (object == nullptr || read_meta(*object).uid != owner.uid || kind->end(read_object(kind->type, *object)))
      found_.push_back("Workload " + workload.meta.name + " holds quota, and its " + owner.kind + " is over");
  }
  void find_late(const Workload& workload) {
    const auto& wait = settings_.wait_for_pods_ready;
    const Condition* admitted = find_condition(workload.status.conditions, kAdmittedCondition);
    if (!wait || !holds(workload) || admitted == nullptr || !admitted->is_true() ||
        workload.is_true(kPodsReadyCondition))
      return;
    if (to_time_point(admitted->last_transition) + wait->timeout + kGrace < now_)
      found_.push_back("Workload " + workload.meta.name + " is admitted since " +
                       format_rfc3339(admitted->last_transition) + ", and its pods are not ready");
  }
  void find_late(const Pod& pod, const nlohmann::json& object) {
    const std::optional<OwnerReference> owner = controller_of(object);
    if (!pod.live() || pod.waiter != WaiterState::kWaiting || !owner) return;
    const ObjectPtr job = server_.get({&kJobs, pod.meta.ns, owner->name});
    if (job == nullptr || !read_job(*job)->barrier) return;
    if (to_time_point(pod.waiter_started) + std::chrono::seconds(read_job(*job)->barrier->timeout_seconds) + kGrace <
        now_)
      found_.push_back("pod " + pod.meta.name + " waits for its group since " + format_rfc3339(pod.waiter_started));
  }

  // Its waiters give up some time after muster should have.
  void find_silent(const Job& job) {
    const Conditions& conditions = job.status.conditions;
    if (!job.barrier || !job.failed() || condition_is_true(conditions, reconcilers::kGroupStartedCondition)) return;
    const Condition* said = find_condition(conditions, reconcilers::kGroupStartedCondition);
    if (said == nullptr || said->reason != reconcilers::kGroupSchedulingTimeout)
      found_.push_back("Job " + job.meta.name + " has failed, and does not say that its group was late");
  }

  const ApiServer& server_;
  const TimePoint now_;
  const QueueSettings& settings_;
  std::vector<WorkloadPtr> workloads_;
  std::vector<std::string> found_;
};

}  // namespace

std::vector<std::string> find_unrest(const ApiServer& server, TimePoint now, const QueueSettings& settings) {
  return Rest(server, now, settings).find();
}

}  // namespace muster::world
