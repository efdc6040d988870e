// The fields that muster reads of a StatefulSet and of a LeaderWorkerSet: pod sets with their templates, and
// the progress of an update.
// Source: k8s.io/api/apps/v1; LeaderWorkerSet v1.
#include "kinds/serving_types.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/pods/counts.h"
#include "base/whole_number.h"
#include "kinds/kind_description.h"
#include "kinds/kind_hook.h"

namespace muster {
namespace {

using nlohmann::json;

void add_pod_set(const json& pod_template, std::string name, int32_t count, DescribedJob& job) {
  if (!pod_template.is_object() || pod_template.empty()) return;
  job.pod_sets.push_back({.name = std::move(name), .count = count, .pod_template = read_pod_template(pod_template)});
}

// A number, or a share of `all` such as "25%", rounded up.
int32_t count_or_share(const json& value, int32_t all) {
  if (value.is_number_integer()) return saturated_count(value.get<int64_t>());
  if (!value.is_string()) return 0;
  std::string_view text = value.get_ref<const std::string&>();
  const auto percent = take_number<int32_t>(text);
  if (!percent || text != "%" || *percent < 0) return 0;
  return saturated_count((int64_t{*percent} * all + 99) / 100);
}

void read_stateful_set(const json& object, DescribedJob& job) {
  const json& spec = object_at(object, {"spec"});
  const int32_t replicas = saturated_count(int_at(spec, {"replicas"}).value_or(1));
  add_pod_set(object_at(spec, {"template"}), "main", replicas, job);
  const std::string_view strategy = string_at(spec, {"updateStrategy", "type"});
  json kept = {{"replicas", replicas},
               {"currentRevision", string_at(object, {"status", "currentRevision"})},
               {"updateRevision", string_at(object, {"status", "updateRevision"})}};
  // The partition counts from the first ordinal.
  const auto number = [&](std::initializer_list<std::string_view> path) {
    return int64_t{saturated_count(int_at(spec, path).value_or(0))};
  };
  if (strategy.empty() || strategy == "RollingUpdate")
    kept["updatesFrom"] =
        saturated_count(number({"ordinals", "start"}) + number({"updateStrategy", "rollingUpdate", "partition"}));
  job.kept = to_text(kept);
}

// During an update more groups than replicas exist, up to the set's limit.
int32_t groups_of(const json& object, int32_t replicas) {
  const json* surge = find_path(object, {"spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge"});
  if (surge == nullptr) return replicas;
  const int32_t present = saturated_count(int_at(object, {"status", "replicas"}).value_or(0));
  const int64_t most = int64_t{replicas} + count_or_share(*surge, replicas);
  return saturated_count(std::max<int64_t>(replicas, std::min<int64_t>(present, most)));
}

void read_leader_worker_set(const json& object, DescribedJob& job) {
  const json& place = object_at(object, {"spec", "leaderWorkerTemplate"});
  const int32_t replicas = saturated_count(int_at(object, {"spec", "replicas"}).value_or(1));
  const int32_t size = saturated_count(int_at(place, {"size"}).value_or(1));
  const json& leader = object_at(place, {"leaderTemplate"});
  add_pod_set(leader, "leader", 1, job);
  const bool led = !job.pod_sets.empty();
  add_pod_set(object_at(place, {"workerTemplate"}), led ? "worker" : "main", led ? std::max(size - 1, 0) : size, job);
  job.kept = to_text(json{{"replicas", groups_of(object, replicas)}, {"size", size}});
}

constexpr KindHook kStatefulSetHook{.name = "statefulset", .makes_pod_sets = true, .read = read_stateful_set};
constexpr KindHook kLeaderWorkerSetHook{
    .name = "leaderworkerset", .makes_pod_sets = true, .read = read_leader_worker_set};

KindDescription describe(const ResourceType& type, std::string_view framework, const KindHook& hook) {
  KindDescription kind;
  kind.framework = framework;
  kind.group = type.group;
  kind.version = type.version;
  kind.kind = type.kind;
  kind.plural = type.plural;
  kind.hook = &hook;
  return kind;
}

}  // namespace

const KindDescription* find_serving_description(std::string_view group, std::string_view kind) {
  // settle() needs the final place of the objects in memory.
  static const auto kKinds = [] {
    auto kinds = std::make_shared<std::vector<KindDescription>>();
    kinds->push_back(describe(kStatefulSets, kStatefulSetFramework, kStatefulSetHook));
    kinds->push_back(describe(kLeaderWorkerSets, kLeaderWorkerSetFramework, kLeaderWorkerSetHook));
    for (KindDescription& each : *kinds) each.settle();
    return kinds;
  }();
  for (const KindDescription& known : *kKinds) {
    if (known.kind == kind && known.group == group) return &known;
  }
  return nullptr;
}

}  // namespace muster
