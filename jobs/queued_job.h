// A job of any kind as the queues see it: what it asks for, how far it is, and the patches
// that start and stop it. Pure.
// Source: Kueue, pkg/controller/jobframework.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/rule_settings.h"
#include "api/meta/object_meta.h"
#include "api/meta/resource_type.h"
#include "api/pod_set.h"
#include "base/result.h"
#include "jobs/job_kind.h"
#include "kinds/pod_set_info.h"
#include "kinds/typed_object.h"

namespace muster::jobs {

class QueuedJob {
 public:
  // `job` is of this kind; both must outlive this.
  QueuedJob(const JobKind& kind, const TypedObject& job) : kind_(&kind), job_(&job) {}
  // The same with what other objects say of it.
  QueuedJob(const JobKind& kind, const TypedObject& job, const ConsultedLookup& find);

  const ResourceType& type() const { return kind_->type; }
  const JobKind& kind() const { return *kind_; }
  const ObjectMeta& meta() const { return meta_of(*job_); }
  std::string_view managed_by() const { return kind_->managed_by(*job_); }
  std::string_view queue_name() const;
  // The label kueue.x-k8s.io/priority-class; empty when absent.
  std::string_view priority_class() const;
  // See JobKind.
  std::string_view pod_priority_class() const { return kind_->pod_priority_class(*job_); }
  // Of the label kueue.x-k8s.io/max-exec-time-seconds; nullopt when it is none.
  std::optional<int32_t> maximum_execution_seconds() const;
  // Its Workload can grow and shrink while it runs (annotation kueue.x-k8s.io/elastic-job).
  bool elastic(const RuleSettings& settings) const;

  // See JobKind.
  std::string_view awaited() const { return kind_->awaited(*job_); }
  bool left_alone() const { return kind_->left_alone(*job_); }
  bool works_while_deleted() const { return kind_->works_while_deleted(*job_); }
  bool readable() const { return kind_->readable(*job_); }
  std::string why_unreadable() const { return kind_->why_unreadable(*job_); }
  bool suspended() const { return kind_->suspended(*job_); }
  bool stopping() const { return kind_->stopping(*job_); }
  // Suspended, and no stop is under way.
  bool stopped() const { return suspended() && !stopping(); }
  bool active() const { return kind_->active(*job_); }
  bool on_hold() const { return kind_->on_hold(*job_); }
  std::string pod_selector() const { return kind_->pod_selector(*job_); }
  bool pods_ready() const { return kind_->pods_ready(*job_); }
  Stages stages() const { return kind_->stages(*job_); }
  std::optional<JobEnd> end() const { return kind_->end(*job_); }
  std::vector<ReclaimablePod> reclaimable_pods() const { return kind_->reclaimable_pods(*job_); }
  bool has_start_time() const { return kind_->has_start_time(*job_); }
  bool start_time_is_in_the_way() const { return kind_->start_time_is_in_the_way(*job_); }

  // As a Workload has them: without labels that name this very job, each environment
  // variable once.
  std::vector<PodSet> pod_sets(const RuleSettings& settings) const;
  // The same without what only a new Workload needs; cheap.
  std::vector<PodSet> pod_set_shapes(const RuleSettings& settings) const {
    return kind_->pod_set_shapes(*job_, settings);
  }

  // The merge patch that starts it with the values for its pod sets, in order. An error is
  // permanent.
  Result<nlohmann::json> start_patch(const std::vector<PodSetInfo>& infos) const;
  // The merge patch that reverts the changes of a start, without the suspension; null when nothing differs. No infos:
  // the old values are unknown.
  nlohmann::json restore_patch(const std::vector<PodSetInfo>& infos) const;

 private:
  const JobKind* kind_;
  std::shared_ptr<const TypedObject> own_;  // can be empty
  const TypedObject* job_;
};

// Of a pod set as a Workload stores it: what its pods had before any start.
PodSetInfo info_of_pod_set(const PodSet& pod_set);
// The fields of a PodSpec that decide what quota counts.
inline constexpr std::array kChargedFields = {"initContainers", "containers", "resources",
                                              "resourceClaims", "overhead",   "runtimeClassName"};
// Whether two specs are the same in these fields. Those of `job` are compared as a Workload would have them.
bool same_charged_fields(const PodSpecPtr& job, const PodSpecPtr& workload);

}  // namespace muster::jobs
