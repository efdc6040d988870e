// Keeps spec.groupSchedulingConfig in the CRD of a foreign JobSet controller, without
// which the API server would drop the field from every JobSet (reference: structural
// schemas, apiextensions.k8s.io/v1). Only beside such a controller, only in v1alpha2,
// only if the settings want it, and never in the CRD that is muster's own.
//
// Who installs that controller's CRD anew replaces the list of versions whole, and the
// field is gone, with its values. An annotation beside the list tells that it was there:
// it outlives such a replacement, so that the loss can be told and not just mended.
//
// That installation is `kubectl apply --server-side`, which refuses to change a field that another
// field manager owns, and a patch of the list makes muster its owner. So a second patch takes the
// list out of muster's entry in metadata.managedFields: then the next installation succeeds.
// Source: Kubernetes API concepts, "Server-Side Apply", "Transferring ownership" and "Clearing
// managedFields".
//
// Where muster itself is the JobSet controller, a foreign definition that appears is
// told in an event, and muster makes no more Jobs: two controllers would fight.
#pragma once

#include "manifests/names.h"
#include "reconcilers/reconciler.h"

namespace muster {

// On the CRD: which definition of the field muster has put in, for people: "v1".
inline constexpr std::string_view kGroupFieldAnnotation = "muster.batch/group-scheduling-field";

// Whether the definition that is there is another controller's. False when none is.
bool definition_is_foreign(const ClusterState& state);

extern const Reconciler jobset_crd_reconciler;

}  // namespace muster
