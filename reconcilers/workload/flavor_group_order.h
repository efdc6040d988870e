// In which order flavor fallback changes the flavors of a queue with several resource groups. Pure.
//
// The groups are the digits of a number that counts the combinations of flavors: the flavor of a group changes when the
// groups before it have no other one, and these begin again. Groups whose flavors fail sooner come first: so each
// combination has its time where the flavors of a group have one timeout.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "api/cluster_queue.h"

namespace muster::reconcilers {

class FlavorGroupOrder {
 public:
  // `queue` must have a fallback strategy.
  explicit FlavorGroupOrder(const ClusterQueue& queue);
  // Whether the group of the one flavor comes before the group of the other.
  bool before(std::string_view one, std::string_view other) const { return rank(one) < rank(other); }

 private:
  int rank(std::string_view flavor) const;

  std::map<std::string, int, std::less<>> ranks_;
  int groups_ = 0;
};

}  // namespace muster::reconcilers
