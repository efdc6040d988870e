// With the gate PartialAdmission off, a new Workload starts with all of its pods or not at all.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {

extern const Mutator partial_admission_off;

}  // namespace muster::mutators
