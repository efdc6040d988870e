#include "scheduler/capacity/capacity.h"

#include <algorithm>
#include <utility>

#include "api/workload.h"

namespace muster::scheduler {

Capacity::Capacity(const QuotaIdTable& names, FurtherCapacities further)
    : names_(names), ledger_(names), further_(std::move(further)) {
  CapacityId last = kQuotaCapacity;
  for (const auto& capacity : further_) capacity->id_ = ++last;
}

// Pods of a deleted ClusterQueue still use the further capacities.
void Capacity::take(NodeId queue, const Claim& claim) {
  if (queue != kNoNode) ledger_.add(queue, claim.quota);
  for (const CapacityUse& use : claim.further) add(use.key, use.amount);
}

void Capacity::give_back(NodeId queue, const Claim& claim) {
  if (queue != kNoNode) ledger_.remove(queue, claim.quota);
  for (const CapacityUse& use : claim.further) add(use.key, -use.amount);
}

void Capacity::add(CapacityKey key, int64_t amount) {
  if (simulations_ > 0) log_.push_back({key, amount});
  further_[key.capacity - 1]->add(key.unit, amount);
}

// A use of nothing is available also where too much is used.
bool Capacity::lacks_further(const CapacityUses& uses) const {
  return std::any_of(uses.begin(), uses.end(), [&](const CapacityUse& use) {
    return use.amount > 0 && use.amount > further_[use.key.capacity - 1]->available(use.key.unit);
  });
}

int64_t Capacity::available(NodeId queue, CapacityKey key) const {
  if (key.capacity == kQuotaCapacity) return ledger_.available(queue, key.unit);
  return std::max<int64_t>(0, further_[key.capacity - 1]->available(key.unit));
}

Capacity::Assigned Capacity::assign(const PodSetAsk& ask) const {
  Assigned assigned;
  for (const auto& capacity : further_) {
    CapacityAnswer answer = capacity->assign(ask);
    add_uses(assigned.uses, answer.uses);
    if (answer.shortage) assigned.shortages.push_back(std::move(*answer.shortage));
  }
  return assigned;
}

Capacity::AssignedAll Capacity::assign_all(const Workload& workload, const std::vector<FurtherAsk>& asks) const {
  AssignedAll all;
  CapacityUses earlier;
  for (const FurtherAsk& ask : asks) {
    // The first of its pod set: those of the one before are settled.
    if (ask.pod_set >= all.uses.size()) {
      if (!all.uses.empty()) add_uses(earlier, all.uses.back());
      all.uses.resize(ask.pod_set + 1);
    }
    CapacityUses& uses = all.uses.back();
    Assigned assigned = assign({.workload = workload,
                                .pod_set = workload.pod_sets[ask.pod_set],
                                .count = ask.count,
                                .flavor = names_.flavor_name(ask.flavor),
                                .earlier = earlier,
                                .of_pod_set = uses});
    add_uses(uses, assigned.uses);
    for (const Shortage& shortage : assigned.shortages) all.short_ones.push_back(shortage.key.capacity);
  }
  return all;
}

void Capacity::write(const CapacityUses& uses, PodSetAssignment& assignment) const {
  for (const auto& capacity : further_) capacity->write(uses, assignment);
}

CapacityUses Capacity::held(const Workload& workload, const Admission& admission) const {
  CapacityUses uses;
  for (const auto& capacity : further_) add_uses(uses, capacity->held(workload, admission));
  return uses;
}

// With lengths, so that no text can look like two.
std::string Capacity::text_of(const Workload& workload, const PodSet& pod_set) const {
  std::string all;
  for (const auto& capacity : further_) {
    const std::string text = capacity->text_of(workload, pod_set);
    all += '~' + std::to_string(text.size()) + '~' + text;
  }
  return all;
}

// Backwards, as the changes were made. An outer simulation goes on with the rest of the log.
Capacity::Simulation::~Simulation() {
  --capacity_.simulations_;
  for (; capacity_.log_.size() > mark_; capacity_.log_.pop_back()) {
    const Change& last = capacity_.log_.back();
    capacity_.further_[last.key.capacity - 1]->add(last.key.unit, -last.amount);
  }
}

}  // namespace muster::scheduler
