#include "jobs/described/edit_hook.h"

#include <algorithm>
#include <array>

namespace muster::jobs {

const EditHook* find_edit_hook(std::string_view name) {
  static constexpr std::array kHooks = {&spark_edits, &appwrapper_edits, &trainjob_edits};
  const auto found =
      std::find_if(kHooks.begin(), kHooks.end(), [&](const EditHook* hook) { return hook->name == name; });
  return found == kHooks.end() ? nullptr : *found;
}

}  // namespace muster::jobs
