// Keeps spec.groupSchedulingConfig in the CRD of another JobSet controller, without which the API server
// would drop the field from every JobSet (reference: structural schemas, apiextensions.k8s.io/v1). Only
// beside such a controller, only in v1alpha2, only if the settings enable it, and never in muster's own
// CRD.
//
// A new installation of that controller's CRD replaces the whole list of versions, and deletes the field with its
// values. An annotation records that the field existed: it survives such a replacement, so that muster can report the
// loss and not only repair it.
//
// That installation is `kubectl apply --server-side`, which refuses to change a field that another
// field manager owns, and a patch of the list makes muster its owner. So a second patch takes the
// list out of muster's entry in metadata.managedFields: then the next installation succeeds.
// Source: Kubernetes API concepts, "Server-Side Apply", "Transferring ownership" and "Clearing
// managedFields".
//
// If muster is the JobSet controller, an event reports a new CRD of another owner, and muster creates no more Jobs: two
// controllers would fight.
#pragma once

#include "manifests/names.h"
#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

// On the CRD: which definition of the field muster has put in, for people: "v1".
inline constexpr std::string_view kGroupFieldAnnotation = "muster.batch/group-scheduling-field";

// Whether the definition that is there is another controller's. False when none is.
bool definition_is_foreign(const state::ClusterState& state);

extern const Reconciler jobset_crd_reconciler;

}  // namespace muster::reconcilers
