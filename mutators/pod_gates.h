// A pod that goes into a queue gets its scheduling gates, the label by which muster knows it, and the name of its role
// in a group. A pod that says that its parent puts it into a queue (kueue.x-k8s.io/pod-suspending-parent) gets the
// gates and the role alone: the rest is its parent's to say.
// Source: Kueue, pkg/controller/jobs/pod. Without Kueue's finalizer: docs/decisions/2026-11-23-pods.md.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {

extern const Mutator pod_gates;

}  // namespace muster::mutators
