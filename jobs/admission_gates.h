// The annotation kueue.x-k8s.io/admission-gated-by: a comma-separated list of gates,
// each removed by the controller it names; a job with gates is not admitted.
#pragma once

#include <string_view>
#include <vector>

namespace muster::jobs {

// The gates as written between the commas, without white space around them. An
// empty text has none, a trailing comma means an empty last gate.
std::vector<std::string_view> admission_gates_in(std::string_view annotation);

}  // namespace muster::jobs
