// User-facing ClusterRoles: an editor and a viewer of each kind that people work with, and two that are aggregated
// from them, for administrators of queues and for those who submit jobs. Pure.
//
//   muster-<kind>-editor, muster-<kind>-viewer   rights on one kind: of queues, or one that can be queued, whether its
//                                                integration is turned on and its definition there or not
//   muster-batch-admin   everything of queues and jobs; bind it with a ClusterRoleBinding
//   muster-in-place-restart-agent   for the agents in the pods of JobSets that restart in place; bind it in a namespace
//   muster-reader        asks muster in the own name (ReaderSessions); part of both and of view
//   muster-batch-user    creates jobs and reads queues and Workloads; bind it in a namespace
//
// What a user of a namespace needs is aggregated to Kubernetes' own roles view and edit (and by these to admin). No
// role grants a right to write a status, and view, edit and admin grant none to write Workloads and LocalQueues: quota
// is for administrators of queues to give. The labels rbac.kueue.x-k8s.io/batch-admin and batch-user are Kueue's, so
// that roles which administrators have labelled for Kueue are aggregated here as well.
//
// Source: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace muster::manifests {

std::vector<nlohmann::json> user_roles();

}  // namespace muster::manifests
