// A kind of job that a description defines completely (kinds/kind_description.h).
#pragma once

#include "jobs/job_kind.h"
#include "kinds/kind_description.h"

namespace muster::jobs {

class DescribedKind final : public JobKind {
 public:
  // The description must outlive it.
  explicit DescribedKind(const KindDescription& kind);

  using JobKind::stopped;
  bool suspended(const nlohmann::json& job) const override;
  void set_suspend(nlohmann::json& job, bool suspend) const override;
  const ValuePath& suspend_path() const override { return kind_.suspend; }
  bool suspended_when() const override { return kind_.suspended_when; }
  std::vector<PodTemplateRef> pod_templates(nlohmann::json& job) const override;
  std::vector<ConstPodTemplateRef> read_pod_templates(const nlohmann::json& job) const override;
  Result<std::vector<ConstPodTemplateRef>> read_pod_templates(const nlohmann::json& job, std::string_view ns,
                                                              const ClusterView& view) const override;
  const OwnedKind* find_owned(std::string_view group, std::string_view kind) const override {
    return kind_.find_owned(group, kind);
  }
  bool forms_are_checked_on_update() const override;
  bool has_gated_updates() const override;
  bool takes_prebuilt_workloads() const override { return kind_.prebuilt_workloads; }
  bool takes_elastic_jobs() const override { return kind_.elastic; }
  // The contents of an AppWrapper are checked when its controller creates them.
  bool checks_topology_requests() const override { return kind_.group != "workload.codeflare.dev"; }
  bool checks_topology_groups() const override { return kind_.elastic; }
  std::string_view where_templates_come_from() const override {
    return kind_.hook == nullptr ? std::string_view() : kind_.hook->where_templates_come_from;
  }
  const ValuePath& managed_by_path() const override { return kind_.managed_by; }

  bool suspended(const TypedObject& job) const override;
  std::string_view managed_by(const TypedObject& job) const override;
  bool readable(const TypedObject& job) const override;
  std::string why_unreadable(const TypedObject& job) const override;
  std::optional<TypedObject> consulted(const TypedObject& job, const ConsultedLookup& find) const override;
  std::string_view awaited(const TypedObject& job) const override;
  bool left_alone(const TypedObject& job) const override;
  bool works_while_deleted(const TypedObject& job) const override;
  bool active(const TypedObject& job) const override;
  bool on_hold(const TypedObject& job) const override;
  std::string pod_selector(const TypedObject& job) const override;
  std::string pod_selector(std::string_view name, std::string_view uid) const override;
  bool pods_ready(const TypedObject& job) const override;
  Stages stages(const TypedObject& job) const override;
  std::optional<JobEnd> end(const TypedObject& job) const override;
  std::vector<ReclaimablePod> reclaimable_pods(const TypedObject& job) const override;
  std::vector<PodSet> pod_set_shapes(const TypedObject& job, const RuleSettings& settings) const override;
  nlohmann::json topology_labels(const TypedObject& job, size_t pod_set) const override;
  std::string_view pod_priority_class(const TypedObject& job) const override;

  bool is_written(const TypedObject& job, size_t pod_set) const override;
  bool start_shows_in_templates() const override { return edits_ == nullptr || edits_->shows_in_templates; }
  std::optional<Result<nlohmann::json>> own_start(const TypedObject& job,
                                                  const std::vector<PodSetInfo>& infos) const override;
  std::optional<nlohmann::json> own_restore(const TypedObject& job,
                                            const std::vector<PodSetInfo>& infos) const override;
  bool restores_once_inactive() const override { return edits_ != nullptr && edits_->restores_once_inactive; }
  nlohmann::json edit(const TypedObject& job, const std::vector<nlohmann::json>& template_patches,
                      const std::vector<PodSetInfo>* counts) const override;
  nlohmann::json suspend_patch(bool suspend) const override;

 private:
  std::vector<ConstPodTemplateRef> made_templates(const DescribedJob& job) const;

  const KindDescription& kind_;
  const KindHook* edits_;  // nullptr: starts and stops edit the pod templates
};

}  // namespace muster::jobs
