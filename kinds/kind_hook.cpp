#include "kinds/kind_hook.h"

#include <algorithm>

namespace muster {

const KindHook* find_kind_hook(std::string_view name) {
  const auto hooks = all_kind_hooks();
  const auto found = std::find_if(hooks.begin(), hooks.end(), [&](const KindHook* hook) { return hook->name == name; });
  return found == hooks.end() ? nullptr : *found;
}

std::string kind_hook_names() {
  std::string names;
  for (const KindHook* hook : all_kind_hooks()) names += (names.empty() ? "" : ", ") + std::string(hook->name);
  return names;
}

bool is_read_by_kind_hook(std::string_view annotation) {
  const auto hooks = all_kind_hooks();
  return std::any_of(hooks.begin(), hooks.end(), [&](const KindHook* hook) {
    return std::any_of(hook->annotations.begin(), hook->annotations.end(), [&](std::string_view read) {
      return read.ends_with('/') ? annotation.starts_with(read) : annotation == read;
    });
  });
}

}  // namespace muster
