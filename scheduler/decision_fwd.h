// The decisions of the scheduler by name only; scheduler/decision.h says what they are.
#pragma once

#include <variant>

namespace muster::scheduler {

struct Admitted;
struct Preempted;
struct AwaitedVictim;
struct Pending;
using Decision = std::variant<Admitted, Preempted, AwaitedVictim, Pending>;

}  // namespace muster::scheduler
