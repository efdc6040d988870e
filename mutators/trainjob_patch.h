// A TrainJob gets the entry of spec.runtimePatches that a start fills in: the trainer lets entries change while the
// job is suspended. Also one that is in no queue, which it can be given later.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {

extern const Mutator trainjob_patch;

}  // namespace muster::mutators
