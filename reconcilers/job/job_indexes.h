// Indexes of jobs of all kinds.
#pragma once

#include "state/index/index.h"

namespace muster::reconcilers {

// Jobs, JobSets and objects of described kinds by {namespace, uid} of their controller, an object of a described kind.
extern const state::Index<TypedObject> kPartsByDescribedJob;
// Jobs by {namespace, Workload} that they name as theirs (kueue.x-k8s.io/prebuilt-workload-name), by the annotation and
// by the label: which counts is a matter of settings (jobs/prebuilt_workload.h).
extern const state::Index<TypedObject> kJobsByPrebuiltWorkload;
// Objects of described kinds by {namespace, plural}: compare the groups.
extern const state::Index<TypedObject> kDescribedJobsByKind;

}  // namespace muster::reconcilers
