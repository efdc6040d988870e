// What names an object of one kind, or a thing in its namespace: as Kubernetes' NamespacedName.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "api/meta/object_meta.h"

namespace muster::state {

// Refers to texts that another object holds.
struct NamespacedName {
  std::string_view ns;  // empty for what is in no namespace
  std::string_view name;

  auto operator<=>(const NamespacedName&) const = default;
};

struct NamespacedNameHash {
  // A thousand namespaces can each have an object of one name.
  size_t operator()(NamespacedName one) const {
    const std::hash<std::string_view> hash;
    return hash(one.name) ^ (hash(one.ns) << 1U);
  }
};

inline NamespacedName name_of(const ObjectMeta& meta) {
  return {meta.ns, meta.name};
}

// What path_of() has put together, "namespace/name": no name of Kubernetes contains a slash.
inline NamespacedName split_path(std::string_view path) {
  const size_t slash = path.find('/');
  if (slash == std::string_view::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace muster::state
