#include "commands/moving/rules/doctor.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/meta/time.h"
#include "commands/kubectl/leader_state.h"
#include "commands/moving/rules/adoption.h"
#include "commands/moving/rules/components.h"
#include "commands/moving/rules/kubernetes_version.h"

namespace muster::commands {
namespace {

using nlohmann::json;

std::string in_seconds(Duration duration) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(duration).count()) + " s";
}

void look_at_versions(const DoctorContext& context) {
  std::vector<std::string> images, names;
  for (const json* pod : context.pods()) {
    const json& containers = array_at(*pod, {"spec", "containers"});
    if (containers.empty()) continue;
    const std::string image(string_at(containers[0], {"image"}));
    names.push_back(object_name(*pod));
    if (std::find(images.begin(), images.end(), image) == images.end()) images.push_back(image);
  }
  if (images.size() > 1)
    context.add(Severity::kChange, "version-skew", names,
                "replicas run different images (" + images[0] + ", " + images[1] + "): a rollout has not ended",
                context.kubectl() + "rollout status deployment/muster");
  const std::vector<int> own = image_version(":" + context.facts.version);
  for (const std::string& image : images) {
    const std::vector<int> theirs = image_version(image);
    if (!theirs.empty() && !own.empty() && theirs != own)
      context.add(Severity::kChange, "version-skew", {"muster " + context.facts.version},
                  "this program is of another version than " + image + " in the cluster", "use the same version");
  }
  judge_kubernetes(context.facts.server_minor, false, context.findings);
}

// By the holder's clock; negative: it is ahead of the API server's. nullopt: the Lease does not say.
std::optional<Duration> time_since_renewal(const DoctorContext& context, const json& lease) {
  const auto renewed = parse_micro_time(lease.value("/spec/renewTime"_json_pointer, json()));
  if (!renewed) return std::nullopt;
  return time_between(to_time_point(*renewed), context.facts.server_now.value_or(context.facts.now));
}

const json* own_lease(const DoctorContext& context) {
  return context.dump.find("coordination.k8s.io", "Lease", context.facts.muster_namespace, manifests::kLeaseName);
}

std::string lease_name(const DoctorContext& context) {
  return "Lease " + context.facts.muster_namespace + "/" + std::string(manifests::kLeaseName);
}

void look_at_lease(const DoctorContext& context) {
  if (auto trouble = lease_trouble(context)) return context.findings.push_back(std::move(*trouble));
  const json& lease = *own_lease(context);
  const Duration since = time_since_renewal(context, lease).value_or(Duration::zero());
  if (since < -kClockSkew)
    context.add(Severity::kChange, "clock-skew", {lease_name(context)},
                "its holder's clock is " + in_seconds(-since) + " ahead of the API server's",
                "set the clock of the node of " + std::string(string_at(lease, {"spec", "holderIdentity"})));
}

void look_at_clock(const DoctorContext& context) {
  if (!context.facts.server_now) return;
  const Duration skew = context.facts.now - *context.facts.server_now;
  if (skew > kClockSkew || skew < -kClockSkew)
    context.add(Severity::kChange, "clock-skew", {"this machine"},
                "its clock and the API server's differ by " + in_seconds(skew < Duration::zero() ? -skew : skew),
                "set the clocks by NTP");
}

void look_for_others(const DoctorContext& context) {
  const FoundComponent kueue = find_component(context.dump, kueue_component());
  for (const std::vector<const json*>* hooks : {&kueue.mutating, &kueue.validating}) {
    for (const json* webhook : *hooks)
      context.add(Severity::kBlocker, "kueue-there", {object_name(*webhook)},
                  "while Kueue's webhooks are there, muster decides nothing", "kubectl muster adopt");
  }
}

}  // namespace

std::optional<Finding> lease_trouble(const DoctorContext& context) {
  const auto trouble = leader_trouble(own_lease(context), context.facts.server_now.value_or(context.facts.now));
  if (!trouble) return std::nullopt;
  const auto finding = [&](Severity severity, const char* rule, std::string remedy) {
    return Finding{severity, rule, {lease_name(context)}, trouble->sentence, std::move(remedy)};
  };
  switch (trouble->kind) {
    case LeaderTrouble::Kind::kNoHolder:
      return finding(Severity::kHarm, "no-leader", context.kubectl() + "logs deployment/muster");
    case LeaderTrouble::Kind::kOfOthers:
      return finding(Severity::kBlocker, "lease-of-others",
                     "move Kueue to another namespace, or finish the move: kubectl muster adopt");
    case LeaderTrouble::Kind::kExpired:
      break;
  }
  return finding(
      Severity::kBlocker, "lease-expired",
      context.kubectl() + "delete lease " + std::string(manifests::kLeaseName) + ", and look at the pods' logs");
}

std::vector<const json*> DoctorContext::pods() const {
  std::vector<const json*> found;
  for (const json* pod : dump.of_kind("", "Pod")) {
    if (string_at(*pod, {"metadata", "namespace"}) == facts.muster_namespace &&
        label(*pod, manifests::kAppNameLabel) == manifests::kAppName)
      found.push_back(pod);
  }
  return found;
}

std::string DoctorContext::restore(const char* part, bool force) const {
  const std::string& ns = facts.muster_namespace;
  const json* deployment = muster_deployment(dump, ns);
  if (deployment != nullptr) {
    if (const auto release = annotation(*deployment, "meta.helm.sh/release-name"))
      return "helm upgrade " + std::string(*release) + " manifests/charts/muster --namespace " + ns + " --reuse-values";
  }
  return kubectl() +
         "get configmap muster-config -o jsonpath='{.data.config\\.yaml}' > config.yaml; muster manifests --only " +
         part + " --config config.yaml" + (ns == manifests::kDefaultNamespace ? "" : " --namespace " + ns) +
         " | kubectl apply --server-side" + (force ? " --force-conflicts" : "") + " -f -";
}

void doctor_process(const DoctorContext& context) {
  look_at_versions(context);
  look_at_lease(context);
  look_at_clock(context);
  look_for_others(context);
  if (!context.facts.lacks.empty())
    context.add(Severity::kHarm, "right-missing", context.facts.lacks,
                "muster's service account does not have this right", context.restore("rbac"));
}

std::vector<Finding> doctor(const ClusterDump& dump, const DoctorFacts& facts) {
  std::vector<Finding> findings = dump.unread_findings();
  const DoctorContext context{dump, facts, findings};
  doctor_pods(context);
  doctor_process(context);
  doctor_webhooks(context);
  doctor_queues(context);
  return by_cause(sorted_findings(std::move(findings)), ready_replicas(dump, facts.muster_namespace) > 0);
}

}  // namespace muster::commands
