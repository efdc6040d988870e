// The order of pending Workloads, as terms that are compared one after the other: the first in which two differ
// decides. The scheduler compares with these functions, and what users see of the order comes from them.
//
// In a ClusterQueue: the sticky head, then priority, then time (KEP-83, KEP-1282). Between the first Workloads of
// ClusterQueues, in one cycle: a claim, an earlier block, how near the quota is, priority, time; with fair sharing,
// borrowing and the share instead of how near it is (KEP-1714).
//
// Which time orders Workloads of the same priority is said by the second part.
#pragma once

#include <cstdint>
#include <limits>
#include <tuple>

#include "api/config/queue_settings.h"
#include "api/meta/object_meta.h"
#include "api/workload.h"
#include "scheduler/preemption/fair_sharing.h"
#include "scheduler/workload_state.h"

namespace muster::scheduler {

enum class OrderTerm { kNone, kSticky, kClaim, kBlocked, kLevel, kBorrowing, kShare, kPriority, kTime, kUid };

// The first term in which two differ, and whether the first of them comes first.
struct Comparison {
  OrderTerm term = OrderTerm::kNone;
  bool first = false;
};

struct QueueTerms {
  bool sticky = false;  // its preemptions are in progress: it keeps the first place
  int32_t priority = 0;
  Timestamp since{};
  // Of the object, which must outlive this. Ends every tie, because sets of Workloads need a unique order.
  const ObjectMeta* meta = nullptr;
};
inline Comparison compare(const QueueTerms& a, const QueueTerms& b) {
  if (a.sticky != b.sticky) return {OrderTerm::kSticky, a.sticky};
  if (a.priority != b.priority) return {OrderTerm::kPriority, a.priority > b.priority};
  if (a.since != b.since) return {OrderTerm::kTime, a.since < b.since};
  const auto names = [](const ObjectMeta& meta) { return std::tie(meta.uid, meta.ns, meta.name); };
  return {OrderTerm::kUid, names(*a.meta) < names(*b.meta)};
}
// `sticky`: whether it is the preferred Workload of its queue.
inline QueueTerms queue_terms(const WorkloadState& workload, bool sticky = false) {
  return {sticky, workload.rank, workload.queued_since, &workload.object->meta};
}

// A Workload that an earlier cycle has blocked until other pods are ready: that cycle; else one after all others.
inline uint64_t blocked_in(const WorkloadState& workload) {
  const LastAttempt* refusal = workload.waiting().refusal.get();
  const bool blocked = refusal != nullptr && refusal->outcome == AttemptResult::kAwaitingReady;
  return blocked ? refusal->cycle : std::numeric_limits<uint64_t>::max();
}

struct HeadTerms {
  bool claim = false;  // it has evicted one Workload again and again (kEvictionsBeforeClaim)
  uint64_t blocked_in = std::numeric_limits<uint64_t>::max();
  int level = 0;  // Ledger::Reach::level of its quota
  int32_t priority = 0;
  Timestamp since{};
};
inline Comparison compare(const HeadTerms& a, const HeadTerms& b) {
  if (a.claim != b.claim) return {OrderTerm::kClaim, a.claim};
  if (a.blocked_in != b.blocked_in) return {OrderTerm::kBlocked, a.blocked_in < b.blocked_in};
  if (a.level != b.level) return {OrderTerm::kLevel, a.level < b.level};
  if (a.priority != b.priority) return {OrderTerm::kPriority, a.priority > b.priority};
  if (a.since != b.since) return {OrderTerm::kTime, a.since < b.since};
  return {};
}
inline HeadTerms head_terms(const WorkloadState& head, int level) {
  return {head.has_claim, blocked_in(head), level, head.rank, head.queued_since};
}

// Within one block (blocked_in), for the children of one Cohort.
struct FairTerms {
  bool claim = false;
  bool borrows = false;   // for this request
  DominantShare share{};  // after the admission
  int32_t priority = 0;
  Timestamp since{};
};
inline Comparison compare(const FairTerms& a, const FairTerms& b) {
  if (a.claim != b.claim) return {OrderTerm::kClaim, a.claim};
  if (a.borrows != b.borrows) return {OrderTerm::kBorrowing, b.borrows};
  if (const int order = compare(a.share, b.share); order != 0) return {OrderTerm::kShare, order < 0};
  if (a.priority != b.priority) return {OrderTerm::kPriority, a.priority > b.priority};
  if (a.since != b.since) return {OrderTerm::kTime, a.since < b.since};
  return {};
}

enum class OrderTimeOf { kCreation, kEviction, kPreemption };
struct OrderTime {
  Timestamp at;
  OrderTimeOf of = OrderTimeOf::kCreation;
};

// The time of its eviction because its pods were not ready (unless `timestamp` selects its
// creation) or because of an admission check with Retry; otherwise its creation time. Without
// Kueue's gate PrioritySortingWithinCohort also just after the moment at which a borrower took its
// quota back.
OrderTime order_time(const Workload& workload, RequeuingStrategy::Timestamp timestamp,
                     bool priority_sorting_within_cohort = true);
Timestamp order_timestamp(const Workload& workload, RequeuingStrategy::Timestamp timestamp,
                          bool priority_sorting_within_cohort = true);

}  // namespace muster::scheduler
