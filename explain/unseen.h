// What a reader with few rights does not see of the cluster.
#pragma once

#include <set>
#include <string_view>

#include "api/meta/resource_type.h"

namespace muster::explain {

// What could not be listed of the cluster, where a state was read with the rights of the reader: what is not there of
// it possibly exists. Of muster's own state nothing is unseen.
struct Unseen {
  std::set<KindId> kinds{};
  bool other_workloads = false;  // Workloads of other namespaces
};
// In an answer whose order is left out for this.
inline constexpr std::string_view kPlaceUnknown =
    "Its place in the queue is not known: you cannot list all that decides it.";

}  // namespace muster::explain
