// Controllers of AdmissionChecks that are part of Kueue, and whether muster has them. A check of any other controller
// is processed by a program that runs beside muster.
#pragma once

#include <span>
#include <string_view>

namespace muster {

struct KueueCheckController {
  std::string_view name;  // spec.controllerName
  // A test compares this field with engine/reconcilers.h, check_controllers().
  bool in_muster;
};
std::span<const KueueCheckController> kueue_check_controllers();

// It is one of Kueue's own controllers, which muster does not have: no controller processes the check.
bool has_no_check_controller(std::string_view name);

}  // namespace muster
