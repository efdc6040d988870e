#include "kinds/kind_hook.h"

#include <algorithm>
#include <array>

#include "kinds/hooks/hooks.h"

namespace muster {
namespace {

constexpr std::array kHooks = {&appwrapper_hook, &ray_hook, &spark_hook, &trainjob_hook};

}  // namespace

const KindHook* find_kind_hook(std::string_view name) {
  const auto found =
      std::find_if(kHooks.begin(), kHooks.end(), [&](const KindHook* hook) { return hook->name == name; });
  return found == kHooks.end() ? nullptr : *found;
}

std::string kind_hook_names() {
  std::string names;
  for (const KindHook* hook : kHooks) names += (names.empty() ? "" : ", ") + std::string(hook->name);
  return names;
}

}  // namespace muster
