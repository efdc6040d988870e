#include "runtime/jobset_mode.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "api/codec/json.h"
#include "api/meta/resource_type.h"
#include "api/meta/time.h"
#include "manifests/names.h"
#include "runtime/kueue/kueue_presence.h"

namespace muster::runtime {
namespace {

using nlohmann::json;

// nullopt: the object does not exist.
Result<std::optional<json>> read(kube::KubeApi& api, const ResourceType& type, std::string_view ns,
                                 std::string_view name, const std::stop_token& stop) {
  auto object = api.get(kube::resource_of(type), ns, name, stop);
  if (object) return std::optional<json>(std::move(*object));
  if (object.error().not_found()) return std::optional<json>();
  return fail("whether a JobSet controller is there cannot be found out: " + object.error().message);
}

// The holder renewed it within its own duration, and is not muster: `muster adopt` holds it permanently.
bool is_held(const json& lease, TimePoint now) {
  const std::string_view holder = string_at(lease, {"spec", "holderIdentity"});
  if (holder.empty() || is_muster_identity(holder)) return false;
  const auto renewed = parse_micro_time(lease.value("/spec/renewTime"_json_pointer, json()));
  const int64_t seconds = int_at(lease, {"spec", "leaseDurationSeconds"}).value_or(15);
  return renewed && to_time_point(*renewed) + std::chrono::seconds(seconds) > now;
}

constexpr ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true, "coordination.k8s.io/v1"};

}  // namespace

Result<bool> decide_native_jobsets(JobSetController choice, const JobSetTraces& traces) {
  const bool foreign_definition = traces.has_definition && !traces.definition_is_ours;
  if (choice == JobSetController::kExternal) return false;
  if (choice == JobSetController::kAuto && foreign_definition) return false;
  if (foreign_definition) {
    return fail("muster cannot be the JobSet controller: the CustomResourceDefinition " +
                std::string(manifests::kJobSetDefinitionName) +
                " is another controller's; once that one is removed, apply muster's (muster manifests --only crds), or "
                "start with --jobset-controller=external");
  }
  std::string signs;
  for (const std::string& sign : traces.foreign_controller) signs += (signs.empty() ? "" : " and ") + sign;
  if (!signs.empty()) {
    return fail("muster cannot be the JobSet controller: another one is there (" + signs +
                "); remove it, or start with --jobset-controller=external");
  }
  return true;
}

std::string foreign_controller_user(const JobSetTraces& traces) {
  if (traces.foreign_namespace.empty()) return "";
  return "system:serviceaccount:" + traces.foreign_namespace + ":" + std::string(manifests::kForeignJobSetAccount);
}

Result<JobSetTraces> find_jobset_traces(kube::KubeApi& api, JobSetController choice, TimePoint now,
                                        std::stop_token stop) {
  JobSetTraces traces;
  auto webhooks = read(api, kValidatingWebhookConfigurations, "", manifests::kForeignJobSetWebhooks, stop);
  if (!webhooks) return fail(webhooks.error().message);
  if (webhooks->has_value()) {
    traces.foreign_controller.push_back("its webhook configuration " + std::string(manifests::kForeignJobSetWebhooks));
    const json& hooks = array_at(**webhooks, {"webhooks"});
    if (!hooks.empty()) traces.foreign_namespace = string_at(hooks[0], {"clientConfig", "service", "namespace"});
  }
  if (choice == JobSetController::kExternal) return traces;
  auto definition = read(api, kCustomResourceDefinitions, "", manifests::kJobSetDefinitionName, stop);
  if (!definition) return fail(definition.error().message);
  traces.has_definition = definition->has_value();
  traces.definition_is_ours =
      definition->has_value() && label(**definition, manifests::kAppNameLabel) == manifests::kAppName;
  auto lease = read(api, kLeases, manifests::kForeignJobSetNamespace, manifests::kForeignJobSetLease, stop);
  if (!lease) return fail(lease.error().message);
  if (lease->has_value() && is_held(**lease, now)) {
    traces.foreign_controller.push_back("its Lease " + std::string(manifests::kForeignJobSetNamespace) + "/" +
                                        std::string(manifests::kForeignJobSetLease) + ", held by " +
                                        std::string(string_at(**lease, {"spec", "holderIdentity"})));
  }
  return traces;
}

}  // namespace muster::runtime
