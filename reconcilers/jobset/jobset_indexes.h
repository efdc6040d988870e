// Indexes of what JobSets use.
#pragma once

#include "state/index/index.h"

namespace muster::reconcilers {

// Pods by {namespace, JobSet} that they name, a JobSet that restarts in place. Any user can write that: compare their
// controllers with its Jobs.
extern const state::Index<InPlacePod> kInPlacePodsByJobSet;
// By {namespace, headless Service}.
extern const state::Index<JobSet> kJobSetsBySubdomain;

}  // namespace muster::reconcilers
