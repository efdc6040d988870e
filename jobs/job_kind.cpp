#include "jobs/job_kind.h"

#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "api/config/rule_settings.h"
#include "jobs/described/described_kind.h"
#include "kinds/kind_description.h"
#include "kinds/kind_registry.h"

namespace muster::jobs {

namespace {

// The kinds of jobs of a registry: first those with special code, then the described ones. Immutable.
class JobKinds {
 public:
  explicit JobKinds(KindRegistry::Ptr registry) : registry_(std::move(registry)) {
    for (const KindDescriptionPtr& kind : registry_->described())
      all_.push_back(&described_.emplace_back(*kind));  // stays at one address
  }
  std::span<const JobKind* const> all() const { return all_; }

 private:
  KindRegistry::Ptr registry_;  // has the descriptions
  std::deque<DescribedKind> described_;
  std::vector<const JobKind*> all_ = {&batch_job, &jobset, &plain_pod, &deployment, &stateful_set, &leader_worker_set};
};

std::unique_ptr<const JobKinds>& registered() {
  static auto kinds = std::make_unique<const JobKinds>(KindRegistry::built_in());
  return kinds;
}

}  // namespace

std::span<const JobKind* const> job_kinds() {
  return registered()->all();
}

// What the kinds before have handed out is kept by others: `muster explain --watch` reads its configuration again in
// each round.
void register_kinds(std::shared_ptr<const KindRegistry> kinds) {
  static std::vector<std::unique_ptr<const JobKinds>> replaced;
  replaced.push_back(std::exchange(registered(), std::make_unique<const JobKinds>(kinds)));
  set_registered_kinds(std::move(kinds));
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
  const std::string_view group = group_of(owner.api_version);
  for (const ResourceType* type : {&kJobs, &kJobSets})
    if (group == type->group && owner.kind == type->kind) return type;
  return nullptr;
}

}  // namespace muster::jobs
