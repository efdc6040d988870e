// What can change of a pod template while a job is suspended, of a template as objects hold it. Parses only that: a
// template can be as large as an object can be.
#pragma once

#include "api/pod_spec.h"
#include "kinds/pod_set_info.h"

namespace muster::jobs {

// Name and count are the caller's.
PodSetInfo info_of_template(const PodTemplate& pod_template);

}  // namespace muster::jobs
