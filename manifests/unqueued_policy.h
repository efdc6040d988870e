// An admission policy that tells users whose objects ask for a queue that muster does not queue
// objects of that kind (kinds/unqueued_kinds.h). The API server evaluates it by itself (CEL), so it
// also speaks while muster is down, and costs no call. Pure.
//
//   on CREATE  of an object with a label or an annotation of kueue.x-k8s.io or muster.batch, or with
//              the label of the queue's name in its pod template
//   on UPDATE  that brings the first of these
//   of CronJobs  those that have the label of the queue's name on themselves and not in the template of their Jobs
//   never      for objects with a controller (pods of Jobs, ReplicaSets of Deployments), objects
//              that are being deleted, kube-system, and muster's own namespace; nor for kinds of
//              integrations.externalFrameworks, which the binding passes over
//
// Source: admissionregistration.k8s.io/v1, Kubernetes 1.30.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/resource_type.h"
#include "kinds/unqueued_kinds.h"

namespace muster::manifests {

inline constexpr ResourceType kValidatingAdmissionPolicyBindings{
    "admissionregistration.k8s.io",     "v1",  "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding", false, "admissionregistration.k8s.io/v1",
};

// spec.validationActions of the binding. A warning is in the audit log as well.
nlohmann::json validation_actions(UnqueuedKinds action);

// Of integrations.externalFrameworks: kinds that other controllers queue, so that there is nothing to tell.
using ExternalFrameworks = std::set<std::string, std::less<>>;

// On the binding, for later starts: muster has set its spec.matchResources. The value is for people.
inline constexpr std::string_view kExternalFrameworksAnnotation = "muster.batch/external-frameworks";
// The merge patch (RFC 7396) after which the binding passes over the kinds in `external`; null where that
// changes nothing. What an administrator has written into spec.matchResources stays while no kind is external.
nlohmann::json exclusion_patch(const nlohmann::json& binding, const ExternalFrameworks& external);

// The policy and its binding.
std::vector<nlohmann::json> unqueued_kinds_policy(const std::string& own_namespace, UnqueuedKinds action,
                                                  const ExternalFrameworks& external = {});

}  // namespace muster::manifests
