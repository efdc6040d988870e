// For tests that need pods and look at none of their fields.
#pragma once

#include "api/pod_spec.h"

namespace muster::test {

// One container, "main", without requests.
PodTemplate plain_pod_template();

}  // namespace muster::test
