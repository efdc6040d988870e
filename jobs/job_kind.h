// All that muster must know about a kind of job, in one object per kind: how the webhooks read and edit it as JSON, and
// how the reconcilers read it as a typed object, start it and stop it. Rules and reconcilers speak of jobs only through
// it; jobs/<kind>/ has the kinds.
//
// The functions that take JSON accept any: what has the wrong shape reads as absent and is left for the API
// server's schema to refuse.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "api/meta/owner_reference.h"
#include "api/meta/resource_type.h"
#include "base/result.h"
#include "kinds/kind_hook.h"
#include "kinds/pod_set_info.h"
#include "kinds/typed_object.h"
#include "kinds/value_path.h"

namespace muster {
class ClusterView;
class KindRegistry;
struct OwnedKind;
struct PodSet;
struct ReclaimablePod;
struct RuleSettings;
}  // namespace muster

namespace muster::jobs {

// A pod template inside a job: where it stands and what it is.
template <class Json>
struct BasicPodTemplateRef {
  std::string name;     // pod set name: "main", or the replicatedJob's
  FieldPath path;       // "spec.template", "spec.replicatedJobs[0].template.spec.template"
  Json* template_json;  // never null; metadata and spec inside
  int64_t count;        // pods of the pod set (parallelism, completions and replicas considered)
  // Where a user changes the count; empty: `parallelism` beside the template.
  FieldPath count_path{""};
  // Labels and annotations stand beside the other fields, without metadata.
  bool flat = false;
  // Holds template_json where the job has no such template, and it is made of other fields.
  std::shared_ptr<const nlohmann::json> made{};
};
using PodTemplateRef = BasicPodTemplateRef<nlohmann::json>;             // for editing
using ConstPodTemplateRef = BasicPodTemplateRef<const nlohmann::json>;  // for reading

// Of a job whose parts start one after another.
struct Stages {
  bool more_wait = false;    // parts that cannot start yet
  bool next_starts = false;  // pods are not ready only of parts that had to wait for others
};

struct JobEnd {
  bool success = false;
  std::string message;  // of the job's own condition
};

class JobKind {
 public:
  virtual ~JobKind() = default;
  JobKind(const JobKind&) = delete;
  JobKind& operator=(const JobKind&) = delete;

  const ResourceType& type;
  const std::string_view framework;  // Kueue's name for the integration: "batch/job"
  // The controller that runs such a job unless spec.managedBy names another; empty: the kind has no such field.
  const std::string_view default_manager;
  // Of the value of spec.managedBy, empty when it is not set.
  bool is_managed_by(std::string_view manager) const { return manager.empty() || manager == default_manager; }

  // Whether muster watches objects of this kind: described kinds only where their integration is enabled. muster knows
  // nothing about a kind that is not watched, so it is treated as an unknown kind.
  bool is_watched(const RuleSettings& settings) const { return always_watched_ || is_enabled(settings); }
  bool is_enabled(const RuleSettings& settings) const;

  // Whether a configuration can enable it.
  virtual bool is_offered() const { return true; }
  // Its Workloads are made, started and stopped by a reconciler of the kind's own, and not by reconcilers/job: its
  // objects do not have one place that suspends them.
  virtual bool has_own_reconciler() const { return false; }

  // It is no job: its pods are queued, one by one or in groups, and it is never suspended itself. Kueue's rules for
  // prebuilt Workloads and for the longest time to run do not apply, and what a job gets when it is made it gets
  // with every update.
  virtual bool is_serving() const { return false; }

  // --- As the webhooks see it ---

  // Whether it is suspended as written.
  virtual bool suspended(const nlohmann::json& job) const = 0;
  // Completely stopped: a Job that Kueue's three-step stop has not finished (annotation kueue.x-k8s.io/stopping) is
  // suspended, but not stopped.
  virtual bool stopped(const nlohmann::json& job) const { return suspended(job); }
  virtual void set_suspend(nlohmann::json& job, bool suspend) const = 0;
  // Where the value stands that suspends it, and which value does. Of a pod: where its gates stand.
  virtual const ValuePath& suspend_path() const;
  virtual bool suspended_when() const { return true; }
  // What its controller makes for a job that is of this kind; nullptr: nothing, so that such an object is queued by
  // itself, whatever its ownerReferences say. Of pods this is not asked.
  virtual const OwnedKind* find_owned(std::string_view group, std::string_view kind) const;
  // Kueue validates the format of labels of some kinds only at creation.
  virtual bool forms_are_checked_on_update() const { return true; }
  // Whether a job can name an existing Workload of a user.
  virtual bool takes_prebuilt_workloads() const { return true; }
  // Whether a job can grow and shrink while it runs (annotation kueue.x-k8s.io/elastic-job).
  virtual bool takes_elastic_jobs() const { return false; }
  // Added to what is wrong with a template that the job does not hold; empty: it does.
  virtual std::string_view where_templates_come_from() const { return {}; }
  // Whether the requested topology of its templates is validated; and whether a group of its pod sets must have two
  // members (topology_group). Kueue validates these for some kinds.
  virtual bool checks_topology_requests() const { return true; }
  virtual bool checks_topology_groups() const { return false; }
  // Its updates outside of queues are validated only with the gate ValidateRayAndSparkJobUpdates.
  virtual bool has_gated_updates() const { return false; }
  // Where `managedBy` stands; empty: the kind has no such field.
  virtual const ValuePath& managed_by_path() const;
  // The templates of a job, in order; entries without one are left out. Neither form changes the job.
  virtual std::vector<PodTemplateRef> pod_templates(nlohmann::json& job) const = 0;
  virtual std::vector<ConstPodTemplateRef> read_pod_templates(const nlohmann::json& job) const = 0;
  // The same with what other objects say of the job in namespace `ns`; an error says which one is missing.
  virtual Result<std::vector<ConstPodTemplateRef>> read_pod_templates(const nlohmann::json& job, std::string_view ns,
                                                                      const ClusterView& view) const;

  // --- As the reconcilers see it; `job` is of this kind ---

  virtual bool suspended(const TypedObject& job) const = 0;
  // A stop of several writes has begun and not ended.
  virtual bool stopping(const TypedObject&) const { return false; }
  virtual std::string_view managed_by(const TypedObject& job) const = 0;
  // Whether its pod templates are known.
  virtual bool readable(const TypedObject& job) const = 0;
  // What is wrong with its pod sets, so that it can be in no queue; empty: nothing, or it is another's part.
  virtual std::string why_unreadable(const TypedObject&) const { return ""; }
  // The object with what other objects say of it; nullopt: nothing does.
  virtual std::optional<TypedObject> consulted(const TypedObject&, const ConsultedLookup&) const {
    return std::nullopt;
  }
  // The object that is missing to say what its pod sets are; empty: none.
  virtual std::string_view awaited(const TypedObject&) const { return {}; }
  // muster ignores it as long as it has no Workload.
  virtual bool left_alone(const TypedObject&) const { return false; }
  // Its controller needs the quota while the object is being deleted.
  virtual bool works_while_deleted(const TypedObject&) const { return false; }
  virtual bool active(const TypedObject& job) const = 0;      // some of its pods run
  virtual bool pods_ready(const TypedObject& job) const = 0;  // of the parts that can start
  virtual Stages stages(const TypedObject&) const { return {}; }
  // nullopt: it has not ended.
  virtual std::optional<JobEnd> end(const TypedObject& job) const = 0;
  virtual std::vector<ReclaimablePod> reclaimable_pods(const TypedObject& job) const = 0;
  // Names, counts and templates, in order; cheap.
  virtual std::vector<PodSet> pod_set_shapes(const TypedObject& job, const RuleSettings& settings) const = 0;
  // The PriorityClass that the job itself names for its pods, before their templates do; can be empty.
  virtual std::string_view pod_priority_class(const TypedObject&) const { return {}; }
  // What the pods' own labels say of their place, for topology requests (`topologyRequest` of a pod set).
  virtual nlohmann::json topology_labels(const TypedObject& job, size_t pod_set) const = 0;
  // Labels that a pod template gets for one very object, and that no Workload has.
  virtual std::span<const std::string_view> labels_of_one_job() const { return {}; }
  // Labels that a pod template gets from Kubernetes, so that no Workload knows them: a stop leaves them.
  virtual std::span<const std::string_view> labels_to_keep() const { return {}; }

  // Whether the object has the template of a pod set; where it has none, a start writes it.
  virtual bool is_written(const TypedObject&, size_t) const { return true; }
  // Whether its pod sets read other than before once it was started.
  virtual bool start_shows_in_templates() const { return true; }

  // Where a start and a stop edit something else than pod templates: the merge patches, the start's with the
  // suspension. A start of two steps says the first one first. nullopt: they edit the templates.
  virtual std::optional<Result<nlohmann::json>> own_start(const TypedObject&, const std::vector<PodSetInfo>&) const;
  virtual std::optional<nlohmann::json> own_restore(const TypedObject&, const std::vector<PodSetInfo>&) const;
  // What a start has written can be taken back only when no pod runs any more.
  virtual bool restores_once_inactive() const { return false; }

  // The merge patch that gives the pod templates these patches (null: none) and, where partial admission applies, the
  // counts; null when nothing changes. `counts` is null if they do not change.
  virtual nlohmann::json edit(const TypedObject& job, const std::vector<nlohmann::json>& template_patches,
                              const std::vector<PodSetInfo>* counts) const = 0;
  // The merge patch that suspends or resumes it.
  virtual nlohmann::json suspend_patch(bool suspend) const = 0;

  // A stop takes several writes: what is in the way of the templates' restoration is removed in between.
  virtual bool stops_in_steps() const { return false; }
  virtual bool has_start_time(const TypedObject&) const { return false; }
  // The template of a Job that has started cannot change before its start time is removed, or before the Job's status
  // shows the suspension.
  virtual bool start_time_is_in_the_way(const TypedObject&) const { return false; }

  // The label selector of its pods; empty: no label says whose they are. The second form is for a job that is gone;
  // where it differs, the Workload has the first one (reconcilers/workload/pods_left.h).
  virtual std::string pod_selector(const TypedObject& job) const;
  virtual std::string pod_selector(std::string_view /*name*/, std::string_view /*uid*/) const { return ""; }
  // Its controller does nothing until a user repairs it: it needs no quota.
  virtual bool on_hold(const TypedObject&) const { return false; }

 protected:
  JobKind(const ResourceType& of_type, std::string_view framework_name, std::string_view default_manager_name,
          bool always_watched)
      : type(of_type),
        framework(framework_name),
        default_manager(default_manager_name),
        always_watched_(always_watched) {}

 private:
  const bool always_watched_;
};

// All kinds that muster queues, enabled or not: those of registered_kinds().
std::span<const JobKind* const> job_kinds();
// What this process knows from now on (kinds/kind_registry.h). Before any other thread runs; JobKinds of before are
// gone.
void register_kinds(std::shared_ptr<const KindRegistry> kinds);
// nullptr when muster does not queue the kind.
const JobKind* find_job_kind(std::string_view group, std::string_view kind);
const JobKind* find_job_kind(const ResourceType& type);
const JobKind* find_job_kind(const OwnerReference& owner);
// Of what such an owner is; nullptr: muster does not queue its kind, or does not watch it.
const JobKind* find_owner_kind(const OwnerReference& owner, const RuleSettings& settings);
// &kJobs or &kJobSets, whose objects such an owner is one of; nullptr: neither.
const ResourceType* job_type_of(const OwnerReference& owner);

extern const JobKind& batch_job;
extern const JobKind& jobset;
extern const JobKind& plain_pod;
extern const JobKind& deployment;
extern const JobKind& stateful_set;
extern const JobKind& leader_worker_set;

}  // namespace muster::jobs
