#include "jobs/job_kind.h"

#include <deque>
#include <nlohmann/json.hpp>

#include "api/config/rule_settings.h"
#include "jobs/described/described_kind.h"

namespace muster::jobs {

// First the kinds with special code, then the described kinds.
std::span<const JobKind* const> job_kinds() {
  static std::vector<const JobKind*> kinds = {&batch_job,  &jobset,       &plain_pod,
                                              &deployment, &stateful_set, &leader_worker_set};
  // They last as long as the process, at one address; more can be installed while it starts.
  static std::deque<DescribedKind> made;
  const auto described = described_kinds();
  while (made.size() < described.size()) kinds.push_back(&made.emplace_back(*described[made.size()]));
  return kinds;
}

bool JobKind::is_enabled(const RuleSettings& settings) const {
  return settings.frameworks.contains(framework);
}

std::string JobKind::pod_selector(const TypedObject& job) const {
  const ObjectMeta& meta = meta_of(job);
  return pod_selector(meta.name, meta.uid);
}

const ValuePath& JobKind::suspend_path() const {
  static const ValuePath path = *ValuePath::parse("spec.suspend");
  return path;
}

const ValuePath& JobKind::managed_by_path() const {
  static const ValuePath path = *ValuePath::parse("spec.managedBy");
  return path;
}

const OwnedKind* JobKind::find_owned(std::string_view, std::string_view) const {
  static const OwnedKind any;
  return &any;
}

Result<std::vector<ConstPodTemplateRef>> JobKind::read_pod_templates(const nlohmann::json& job, std::string_view,
                                                                     const ClusterView&) const {
  return read_pod_templates(job);
}

std::optional<Result<nlohmann::json>> JobKind::own_start(const TypedObject&, const std::vector<PodSetInfo>&) const {
  return std::nullopt;
}

std::optional<nlohmann::json> JobKind::own_restore(const TypedObject&, const std::vector<PodSetInfo>&) const {
  return std::nullopt;
}

const JobKind* find_job_kind(std::string_view group, std::string_view kind) {
  for (const JobKind* known : job_kinds()) {
    if (known->type.group == group && known->type.kind == kind) return known;
  }
  return nullptr;
}

const JobKind* find_job_kind(const ResourceType& type) {
  return find_job_kind(type.group, type.kind);
}

const JobKind* find_job_kind(const OwnerReference& owner) {
  return find_job_kind(group_of(owner.api_version), owner.kind);
}

const JobKind* find_owner_kind(const OwnerReference& owner, const RuleSettings& settings) {
  const JobKind* kind = find_job_kind(owner);
  return kind != nullptr && kind->is_watched(settings) ? kind : nullptr;
}

const ResourceType* job_type_of(const OwnerReference& owner) {
  const JobKind* kind = find_job_kind(owner);
  return kind == &batch_job || kind == &jobset ? &kind->type : nullptr;
}

}  // namespace muster::jobs
