// The tables of all reconcilers and of all admission check controllers.
#pragma once

#include <span>

#include "reconcilers/reconciler.h"

namespace muster::engine {

// In the order in which they are asked for one key; the first that wants to write goes
// first, and the others are asked again after it.
std::span<const reconcilers::Reconciler* const> reconcilers();

// muster's own admission check controllers, in any order. Without a row for a controller of Kueue, no process answers
// for its checks (api/check_controllers.h).
reconcilers::CheckControllers check_controllers();

}  // namespace muster::engine
