// Queues, cohorts and flavors (kueue.x-k8s.io/v1beta2), as far as muster reads them.
// Immutable once read, and shared. Values that the schema does not allow read as the
// default of their field.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/flavor_fallback.h"
#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "api/pod_spec.h"
#include "api/preemption_protection.h"

namespace muster {

struct ResourceQuota {
  std::string name;
  Quantity nominal;
  std::optional<Quantity> borrowing_limit;  // nullopt: no limit
  std::optional<Quantity> lending_limit;
};
struct FlavorQuotas {
  std::string name;
  std::vector<ResourceQuota> resources;
};
struct ResourceGroup {
  std::vector<std::string> covered_resources;
  std::vector<FlavorQuotas> flavors;  // in the order in which they are tried
};

enum class QueueingStrategy { kStrictFifo, kBestEffortFifo };
enum class StopPolicy { kNone, kHold, kHoldAndDrain };

enum class PreemptionPolicy { kNever, kLowerPriority, kLowerOrNewerEqualPriority, kAny };
struct ClusterQueuePreemption {
  PreemptionPolicy within_cluster_queue = PreemptionPolicy::kNever;
  PreemptionPolicy reclaim_within_cohort = PreemptionPolicy::kNever;
  PreemptionPolicy borrow_within_cohort = PreemptionPolicy::kNever;
  std::optional<int32_t> max_priority_threshold;  // of borrow_within_cohort
};

enum class FungibilityPreference { kBorrowingOverPreemption, kPreemptionOverBorrowing };
struct FlavorFungibility {
  // Otherwise the search can stop at this flavor.
  bool try_next_when_can_borrow = false;
  bool try_next_when_can_preempt = true;
  FungibilityPreference preference = FungibilityPreference::kBorrowingOverPreemption;
};

struct AdmissionCheckRule {
  std::string name;
  std::vector<std::string> on_flavors;  // none: of every flavor

  bool applies_to(std::string_view flavor) const;
  // Of a Workload that was given these flavors.
  bool applies_to_any(const std::vector<std::string>& flavors) const;
  bool operator==(const AdmissionCheckRule&) const = default;
};

// Usage of one flavor, as queues show it in their status.
struct ResourceUsage {
  std::string name;
  Quantity total;
  Quantity borrowed;

  bool operator==(const ResourceUsage&) const = default;
};
struct FlavorUsage {
  std::string name;
  std::vector<ResourceUsage> resources;

  bool operator==(const FlavorUsage&) const = default;
};

struct QueueStatus {
  Conditions conditions;
  int32_t pending_workloads = 0;
  int32_t reserving_workloads = 0;
  int32_t admitted_workloads = 0;
  std::vector<FlavorUsage> flavors_reservation;
  std::vector<FlavorUsage> flavors_usage;
  // fairSharing.weightedShare, which only ClusterQueues show.
  std::optional<int64_t> weighted_share{};

  bool operator==(const QueueStatus&) const = default;
};
// For a merge patch: every field, empty lists as [].
nlohmann::json to_json(const QueueStatus& status);

struct ClusterQueue {
  ObjectMeta meta;
  std::string cohort;  // empty: none
  std::vector<ResourceGroup> resource_groups;
  QueueingStrategy queueing_strategy = QueueingStrategy::kBestEffortFifo;
  LabelSelector namespace_selector;  // none given: matches nothing
  ClusterQueuePreemption preemption;
  PreemptionProtection protection;  // of its annotations
  FlavorFungibility fungibility;
  std::optional<FallbackStrategy> fallback;  // nullopt: no flavor fails
  std::vector<AdmissionCheckRule> admission_checks;
  StopPolicy stop_policy = StopPolicy::kNone;
  std::optional<Quantity> fair_weight;  // nullopt: 1
  // Fields that are set and that muster does not act on. Its webhook refuses new ones.
  std::vector<std::string> unsupported;
  QueueStatus status;
};
// All of its groups, in the order in which they are tried.
std::vector<std::string> flavors_of(const ClusterQueue& queue);

struct LocalQueue {
  ObjectMeta meta;
  std::string cluster_queue;
  StopPolicy stop_policy = StopPolicy::kNone;
  bool has_share = false;  // spec.fairSharing, which muster does not act on
  QueueStatus status;
};

struct Cohort {
  ObjectMeta meta;
  std::string parent;  // empty: a root
  std::vector<ResourceGroup> resource_groups;
  std::optional<Quantity> fair_weight;
  std::optional<int64_t> weighted_share{};  // of its status
};

struct ResourceFlavor {
  ObjectMeta meta;
  Labels node_labels;
  std::vector<Taint> node_taints;
  std::vector<Toleration> tolerations;  // given to the pods
  std::string topology;                 // spec.topologyName, which muster does not act on
  bool fits_on_nodes = false;           // kFitOnNodesAnnotation
};

struct AdmissionCheck {
  ObjectMeta meta;
  std::string controller;
  Conditions conditions;

  // See has_no_check_controller().
  bool has_no_controller() const;
  // By its condition, which a controller that is gone has possibly left behind.
  bool active() const;
};

// A WorkloadPriorityClass, or a PriorityClass of scheduling.k8s.io.
struct PriorityClass {
  ObjectMeta meta;
  bool for_pods = false;  // scheduling.k8s.io
  int32_t value = 0;
  bool global_default = false;        // of PriorityClasses only
  PreemptionProtection protection{};  // of its annotations; of WorkloadPriorityClasses only
};

ClusterQueuePtr read_cluster_queue(const nlohmann::json& object);
LocalQueuePtr read_local_queue(const nlohmann::json& object);
CohortPtr read_cohort(const nlohmann::json& object);
ResourceFlavorPtr read_resource_flavor(const nlohmann::json& object);
AdmissionCheckPtr read_admission_check(const nlohmann::json& object);
PriorityClassPtr read_priority_class(const nlohmann::json& object, bool for_pods);

}  // namespace muster
