// The table of all reconcilers.
#pragma once

#include <span>

#include "reconcilers/reconciler.h"

namespace muster::engine {

// In the order in which they are asked for one key; the first that wants to write goes
// first, and the others are asked again after it.
std::span<const reconcilers::Reconciler* const> reconcilers();

}  // namespace muster::engine
