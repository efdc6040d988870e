// Kinds that are built in and that Kueue does not have: its behaviour was not recorded for them.
#pragma once

#include <set>
#include <string>

#include "kinds/kind_description.h"
#include "kinds/kind_registry.h"

namespace muster::test {

inline const std::set<std::string> kUnrecordedKinds = {};

// Those of the other described kinds that are not in `seen`.
inline std::set<std::string> kinds_without_lines(const std::set<std::string>& seen) {
  std::set<std::string> missing;
  for (const KindDescriptionPtr& kind : KindRegistry::built_in()->described()) {
    if (!seen.contains(kind->kind) && !kUnrecordedKinds.contains(kind->kind)) missing.insert(kind->kind);
  }
  return missing;
}

}  // namespace muster::test
