// A further capacity with a choice: seats in racks, one for each pod, and all pods of a pod set in one rack. Which rack
// it is, an admission says by a separate field.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "api/workload.h"
#include "scheduler/capacity/further_capacity.h"

namespace muster::test {

inline constexpr const char* kRackField = "example.com/rack";

class Racks : public scheduler::FurtherCapacity {
 public:
  // By rack.
  explicit Racks(std::vector<int64_t> seats) : seats_(std::move(seats)), used_(seats_.size()) {}

  // The fullest rack with seats for all pods.
  scheduler::CapacityAnswer assign(const scheduler::PodSetAsk& ask) const override {
    if (!ask.of_pod_set.empty()) return {};
    const int64_t needed = ask.count;
    uint32_t best = total(), largest = 0;
    for (uint32_t rack = 0; rack < total(); ++rack) {
      if (seats_[rack] > seats_[largest]) largest = rack;
      if (left(rack, ask.earlier) < needed) continue;
      if (best == total() || left(rack, ask.earlier) < left(best, ask.earlier)) best = rack;
    }
    if (best != total()) return {.uses = {{{id(), best}, needed}}};
    return {.uses = {{{id(), largest}, needed}},
            .shortage = scheduler::Shortage{.key = {id(), total()},
                                            .needed = needed,
                                            .permanent = needed > seats_[largest],
                                            .message = "no rack has " + std::to_string(needed) + " seats",
                                            .change = "Starts when a rack has."}};
  }

  void write(const scheduler::CapacityUses& uses, PodSetAssignment& assignment) const override {
    for (const scheduler::CapacityUse& use : uses) {
      if (use.key.capacity == id()) assignment.flavors[kRackField] = std::to_string(use.key.unit);
    }
  }

  scheduler::CapacityUses held(const Workload&, const Admission& admission) const override {
    scheduler::CapacityUses uses;
    for (const PodSetAssignment& assignment : admission.pod_sets) {
      const auto rack = assignment.flavors.find(kRackField);
      if (rack != assignment.flavors.end())
        scheduler::add_use(uses, {{id(), static_cast<uint32_t>(std::stoul(rack->second))}, *assignment.count});
    }
    return uses;
  }

  std::string text_of(const Workload&, const PodSet&) const override { return ""; }
  // The unit behind the racks: the seats of all of them.
  int64_t available(uint32_t unit) const override {
    if (unit < total()) return seats_[unit] - used_[unit];
    int64_t sum = 0;
    for (uint32_t rack = 0; rack < total(); ++rack) sum += std::max<int64_t>(0, available(rack));
    return sum;
  }
  void add(uint32_t unit, int64_t amount) override { used_[unit] += amount; }

 private:
  uint32_t total() const { return static_cast<uint32_t>(seats_.size()); }
  int64_t left(uint32_t rack, const scheduler::CapacityUses& earlier) const {
    int64_t seats = available(rack);
    for (const scheduler::CapacityUse& use : earlier) {
      if (use.key == scheduler::CapacityKey{id(), rack}) seats -= use.amount;
    }
    return seats;
  }

  std::vector<int64_t> seats_, used_;
};

}  // namespace muster::test
