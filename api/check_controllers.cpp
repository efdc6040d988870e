#include "api/check_controllers.h"

#include <algorithm>

#include "api/meta/constants.h"

namespace muster {

std::span<const KueueCheckController> kueue_check_controllers() {
  static constexpr KueueCheckController kControllers[] = {{kMultiKueueControllerName, false},
                                                          {kProvisioningControllerName, false}};
  return kControllers;
}

bool has_no_check_controller(std::string_view name) {
  const auto rows = kueue_check_controllers();
  return std::any_of(rows.begin(), rows.end(),
                     [&](const KueueCheckController& row) { return row.name == name && !row.in_muster; });
}

}  // namespace muster
