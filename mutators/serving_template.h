// What serves hands its queue on to its pods, in their template: a Deployment the labels by which each pod goes into
// the queue by itself; a StatefulSet and a LeaderWorkerSet that they put their pods into groups.
// Source: Kueue, pkg/controller/jobs/{deployment,statefulset,leaderworkerset}.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {

extern const Mutator serving_template;

}  // namespace muster::mutators
