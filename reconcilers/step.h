// How a pass of a reconciler is put together: a list of steps in order, each of which writes, waits, or leaves the
// pass to the next one. What a step does to the plan is its purpose and what it returns cannot be dropped.
#pragma once

#include <tuple>

namespace muster::reconcilers {

// kContinue: there was nothing to do, the next step follows. kDone: the step has written, or waits, and what comes
// after it does not matter now.
enum class [[nodiscard]] Step{kContinue, kDone};

// Takes the steps in order until one ends the pass.
template <class Steps, class... Arguments>
Step take_steps(const Steps& steps, Arguments&... arguments) {
  for (const auto& step : steps) {
    if (step(arguments...) == Step::kDone) return Step::kDone;
  }
  return Step::kContinue;
}

// The same as the whole pass of a reconciler: nothing comes after it.
template <class Steps, class... Arguments>
void run_pass(const Steps& steps, Arguments&... arguments) {
  std::ignore = take_steps(steps, arguments...);
}

// For a step that ends the pass for any result of the inner step.
constexpr Step last(Step) {
  return Step::kDone;
}

}  // namespace muster::reconcilers
