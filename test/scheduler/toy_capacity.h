// The smallest further capacity: licenses, of which the cluster has a number. Pods say how many they need, and need
// none on the flavor "free".
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "api/workload.h"
#include "scheduler/capacity/further_capacity.h"

namespace muster::test {

inline constexpr const char* kLicensesAnnotation = "example.com/licenses";

// By one pod.
inline int64_t licenses_of(const PodSet& pod_set) {
  const auto metadata = nlohmann::json::parse(pod_set.pod_template.metadata_text);
  const auto annotations = metadata.find("annotations");
  return annotations == metadata.end() ? 0 : std::stoll(annotations->value(kLicensesAnnotation, "0"));
}

class Licenses : public scheduler::FurtherCapacity {
 public:
  static constexpr uint32_t kUnit = 7;

  explicit Licenses(int64_t exist) : exist_(exist) {}

  scheduler::CapacityAnswer assign(const scheduler::PodSetAsk& ask) const override {
    const int64_t asked = asked_by(ask.pod_set, ask.count, ask.flavor);
    // Its pods have their licenses by another resource's flavor.
    if (asked == 0 || !ask.of_pod_set.empty()) return {};
    scheduler::CapacityAnswer answer{.uses = {{key(), asked}}};
    int64_t needed = asked;
    for (const scheduler::CapacityUse& use : ask.earlier) needed += use.key == key() ? use.amount : 0;
    if (needed <= available(kUnit)) return answer;
    const bool permanent = needed > exist_;
    const std::string flavor(ask.flavor);
    answer.shortage =
        scheduler::Shortage{.key = key(),
                            .needed = needed,
                            .permanent = permanent,
                            .message = permanent ? "more licenses requested in flavor " + flavor + " than the " +
                                                       std::to_string(exist_) + " of the cluster"
                                                 : "insufficient licenses in flavor " + flavor + ", " +
                                                       std::to_string(needed - available(kUnit)) + " more needed",
                            .change = permanent ? "Buy licenses." : "Starts when a license is returned."};
    return answer;
  }

  scheduler::CapacityUses held(const Workload& workload, const Admission& admission) const override {
    scheduler::CapacityUses uses;
    for (const PodSetAssignment& assignment : admission.pod_sets) {
      int64_t amount = 0;
      for (const auto& [resource, flavor] : assignment.flavors)
        amount = std::max(amount, asked_by(*workload.find(assignment.name), *assignment.count, flavor));
      if (amount > 0) scheduler::add_use(uses, {key(), amount});
    }
    return uses;
  }

  std::string text_of(const Workload&, const PodSet& pod_set) const override {
    return std::to_string(licenses_of(pod_set));
  }
  int64_t available(uint32_t) const override { return exist_ - used_; }
  void add(uint32_t, int64_t amount) override { used_ += amount; }

 private:
  static int64_t asked_by(const PodSet& pod_set, int32_t count, std::string_view flavor) {
    return flavor == "free" ? 0 : licenses_of(pod_set) * count;
  }
  scheduler::CapacityKey key() const { return {id(), kUnit}; }

  int64_t exist_;
  int64_t used_ = 0;
};

}  // namespace muster::test
