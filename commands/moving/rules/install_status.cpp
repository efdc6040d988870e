#include "commands/moving/rules/install_status.h"

#include "api/codec/json.h"
#include "commands/moving/rules/adoption.h"

namespace muster::commands {
namespace {

using nlohmann::json;

int64_t wanted_replicas(const json& deployment) {
  return int_at(deployment, {"spec", "replicas"}).value_or(1);
}

std::string count_of(int64_t some, int64_t all) {
  return std::to_string(some) + " of " + std::to_string(all) + " replicas";
}

// As `kubectl rollout status`: until the last replica of the version before has ended.
std::string unready(const json& deployment) {
  const int64_t wanted = wanted_replicas(deployment);
  const auto count = [&](const char* field) { return int_at(deployment, {"status", field}).value_or(0); };
  if (wanted == 0) return "not ready: muster has no replica (spec.replicas of its Deployment is 0)";
  if (int_at(deployment, {"metadata", "generation"}).value_or(0) > count("observedGeneration"))
    return "not ready: the Deployment has changed, and its controller has not begun the rollout";
  if (count("updatedReplicas") < wanted)
    return "not ready: " + count_of(count("updatedReplicas"), wanted) + " have the present version";
  if (count("readyReplicas") < wanted) return "not ready: " + count_of(count("readyReplicas"), wanted) + " are ready";
  if (count("replicas") > count("updatedReplicas")) return "not ready: a replica of the version before has not ended";
  return "";
}

const json* own_webhooks(const ClusterDump& dump, const char* kind) {
  const json* own = dump.find("admissionregistration.k8s.io", kind, "", manifests::kWebhookConfigurationName);
  return own == nullptr || array_at(*own, {"webhooks"}).empty() ? nullptr : own;
}

}  // namespace

std::vector<std::string> missing_parts(const ClusterDump& dump, const StatusFacts& facts) {
  std::vector<std::string> missing;
  for (const auto& [what, why] : dump.unread()) missing.push_back("not known: " + what + " cannot be read: " + why);
  if (!missing.empty()) return missing;
  const std::string& ns = facts.cluster.muster_namespace;
  const json* deployment = muster_deployment(dump, ns);
  if (deployment == nullptr) return {"not installed: there is no Deployment muster in namespace " + ns};
  if (std::string why = unready(*deployment); !why.empty()) missing.push_back(std::move(why));
  for (const char* kind : {"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}) {
    if (own_webhooks(dump, kind) == nullptr)
      missing.push_back("no webhooks: there is no " + std::string(kind) + " " +
                        std::string(manifests::kWebhookConfigurationName) + " with webhooks");
  }
  if (!facts.webhook_problem.empty()) missing.push_back(facts.webhook_problem);
  std::vector<Finding> none;
  if (const auto trouble = lease_trouble({dump, facts.cluster, none}))
    missing.push_back("no leader: " + trouble->objects.front() + ": " + trouble->problem);
  return missing;
}

std::string complete_status(const ClusterDump& dump, const StatusFacts& facts) {
  const std::string& ns = facts.cluster.muster_namespace;
  const json* deployment = muster_deployment(dump, ns);
  const json* lease = dump.find("coordination.k8s.io", "Lease", ns, manifests::kLeaseName);
  if (deployment == nullptr || lease == nullptr) return "";
  const int64_t wanted = wanted_replicas(*deployment);
  const std::string holder(string_at(*lease, {"spec", "holderIdentity"}));
  return count_of(wanted, wanted) + " are ready, the webhooks answer, " +
         (holder.empty() ? "a replica takes the Lease" : holder.substr(0, holder.rfind('_')) + " leads");
}

}  // namespace muster::commands
