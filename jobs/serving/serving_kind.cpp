// Deployments, StatefulSets and LeaderWorkerSets: their rules in the webhooks, and the requests of the
// Workloads of the latter two. Their pods start and stop them (reconcilers/serving, reconcilers/pod).
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/config/rule_settings.h"
#include "jobs/described/described_pod_sets.h"
#include "jobs/edit.h"
#include "jobs/job_kind.h"
#include "kinds/serving_types.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

const DescribedJob& set_of(const TypedObject& object) {
  return *std::get<DescribedJobPtr>(object);
}

class ServingKind : public JobKind {
 public:
  using JobKind::JobKind;

  bool has_own_reconciler() const override { return true; }
  bool is_serving() const override { return true; }
  // Kueue looks at the pods instead.
  bool checks_topology_requests() const override { return false; }
  const ValuePath& managed_by_path() const override {
    static const ValuePath none;
    return none;
  }

  // None of its pods serves yet: only then can the fields about its queue change.
  bool suspended(const json& object) const override {
    return int_at(object, {"status", "readyReplicas"}).value_or(0) == 0;
  }
  void set_suspend(json&, bool) const override {}
  std::vector<PodTemplateRef> pod_templates(json& object) const override { return templates(object); }
  std::vector<ConstPodTemplateRef> read_pod_templates(const json& object) const override { return templates(object); }

  // The pods show whether it runs or has ended.
  bool suspended(const TypedObject&) const override { return false; }
  std::string_view managed_by(const TypedObject&) const override { return {}; }
  bool readable(const TypedObject& object) const override { return !set_of(object).pod_sets.empty(); }
  bool active(const TypedObject&) const override { return false; }
  bool pods_ready(const TypedObject&) const override { return false; }
  std::optional<JobEnd> end(const TypedObject&) const override { return std::nullopt; }
  std::vector<ReclaimablePod> reclaimable_pods(const TypedObject&) const override { return {}; }
  // Of one group.
  std::vector<PodSet> pod_set_shapes(const TypedObject& object, const RuleSettings&) const override {
    return pod_sets_of(set_of(object));
  }
  json topology_labels(const TypedObject& object, size_t pod_set) const override {
    if (type == kStatefulSets) return {{"podIndexLabel", kStatefulSetPodIndex}};
    if (set_of(object).pod_sets.at(pod_set).name == "leader") return json::object();
    return {{"podIndexLabel", kLeaderWorkerIndex}};
  }
  json edit(const TypedObject&, const std::vector<json>&, const std::vector<PodSetInfo>*) const override {
    return nullptr;
  }
  json suspend_patch(bool) const override { return nullptr; }

 private:
  template <class Json>
  std::vector<BasicPodTemplateRef<Json>> templates(Json& object) const {
    std::vector<BasicPodTemplateRef<Json>> found;
    if (type != kLeaderWorkerSets) {
      if (Json* one = existing_object(object, {"spec", "template"}))
        found.push_back({"main", FieldPath("spec.template"), one, int_at(object, {"spec", "replicas"}).value_or(1)});
      return found;
    }
    const FieldPath place("spec.leaderWorkerTemplate");
    const int64_t size = int_at(object, {"spec", "leaderWorkerTemplate", "size"}).value_or(1);
    Json* leader = existing_object(object, {"spec", "leaderWorkerTemplate", "leaderTemplate"});
    Json* worker = existing_object(object, {"spec", "leaderWorkerTemplate", "workerTemplate"});
    if (leader != nullptr) found.push_back({"leader", place.child("leaderTemplate"), leader, 1});
    if (worker != nullptr) {
      found.push_back({leader == nullptr ? "main" : "worker", place.child("workerTemplate"), worker,
                       leader == nullptr ? size : size - 1});
    }
    return found;
  }
};

class Deployment final : public ServingKind {
 public:
  Deployment() : ServingKind(kDeployments, kDeploymentFramework, "", false) {}
};
class StatefulSet final : public ServingKind {
 public:
  StatefulSet() : ServingKind(kStatefulSets, kStatefulSetFramework, "", false) {}
};
class LeaderWorkerSet final : public ServingKind {
 public:
  LeaderWorkerSet() : ServingKind(kLeaderWorkerSets, kLeaderWorkerSetFramework, "", false) {}

  bool checks_topology_requests() const override { return true; }
  bool checks_topology_groups() const override { return true; }
};

const Deployment kDeploymentKind;
const StatefulSet kStatefulSetKind;
const LeaderWorkerSet kLeaderWorkerSetKind;

}  // namespace

const JobKind& deployment = kDeploymentKind;
const JobKind& stateful_set = kStatefulSetKind;
const JobKind& leader_worker_set = kLeaderWorkerSetKind;

}  // namespace muster::jobs
