// A kind of job that a description tells everything about (api/kinds/kind_description.h).
#pragma once

#include "api/kinds/kind_description.h"
#include "jobs/job_kind.h"

namespace muster {

class DescribedKind final : public JobKind {
 public:
  // The description must outlive it.
  explicit DescribedKind(const KindDescription& kind);

  using JobKind::stopped;
  bool suspended(const nlohmann::json& job) const override;
  void set_suspend(nlohmann::json& job, bool suspend) const override;
  std::vector<PodTemplateRef> pod_templates(nlohmann::json& job) const override;
  std::vector<ConstPodTemplateRef> read_pod_templates(const nlohmann::json& job) const override;
  bool forms_are_checked_on_update() const override { return false; }
  bool takes_prebuilt_workloads() const override { return kind_.prebuilt_workloads; }
  const ValuePath& managed_by_path() const override { return kind_.managed_by; }

  bool suspended(const TypedObject& job) const override;
  std::string_view managed_by(const TypedObject& job) const override;
  bool readable(const TypedObject& job) const override;
  std::string why_unreadable(const TypedObject& job) const override;
  bool active(const TypedObject& job) const override;
  bool pods_ready(const TypedObject& job) const override;
  std::optional<JobEnd> end(const TypedObject& job) const override;
  std::vector<ReclaimablePod> reclaimable_pods(const TypedObject&) const override { return {}; }
  std::vector<PodSet> pod_set_shapes(const TypedObject& job, const RuleSettings& settings) const override;
  nlohmann::json topology_labels(const TypedObject& job, size_t pod_set) const override;
  std::string_view pod_priority_class(const TypedObject& job) const override;

  nlohmann::json edit(const TypedObject& job, const std::vector<nlohmann::json>& template_patches,
                      const std::vector<PodSetInfo>* counts) const override;
  nlohmann::json suspend_patch(bool suspend) const override;

 private:
  const KindDescription& kind_;
};

}  // namespace muster
