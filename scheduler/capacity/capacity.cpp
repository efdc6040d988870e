#include "scheduler/capacity/capacity.h"

namespace muster::scheduler {

void Capacity::take(NodeId queue, const Claim& claim) {
  if (queue != kNoNode) ledger_.add(queue, claim.quota);
}

void Capacity::give_back(NodeId queue, const Claim& claim) {
  if (queue != kNoNode) ledger_.remove(queue, claim.quota);
}

}  // namespace muster::scheduler
