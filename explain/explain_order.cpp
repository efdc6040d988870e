// The place of a pending Workload among the others, term by term.
#include "explain/explain_context.h"
#include "scheduler/scheduler.h"
#include "scheduler/views/order.h"

namespace muster::explain {
namespace {

using scheduler::OrderTerm;
using scheduler::OrderTimeOf;

std::string_view term_name(OrderTerm term) {
  switch (term) {
    case OrderTerm::kNone:
      return "";
    case OrderTerm::kSticky:
      return "sticky";
    case OrderTerm::kClaim:
      return "claim";
    case OrderTerm::kBlocked:
      return "blocked";
    case OrderTerm::kLevel:
      return "level";
    case OrderTerm::kBorrowing:
      return "borrowing";
    case OrderTerm::kShare:
      return "share";
    case OrderTerm::kPriority:
      return "priority";
    case OrderTerm::kTime:
      return "time";
    case OrderTerm::kUid:
      return "uid";
  }
  return "";
}

std::string_view time_name(OrderTimeOf of) {
  if (of == OrderTimeOf::kEviction) return "eviction";
  return of == OrderTimeOf::kPreemption ? "preemption" : "creation";
}

ExplainedTerms explained_terms(const scheduler::OrderedWorkload& workload) {
  ExplainedTerms terms{.position = static_cast<int64_t>(workload.position) + 1,
                       .ns = workload.object->meta.ns,
                       .name = workload.object->meta.name,
                       .cluster_queue = workload.cluster_queue,
                       .itself = workload.itself,
                       .sticky = workload.sticky,
                       .priority = workload.priority,
                       .time = workload.since,
                       .time_of = std::string(time_name(workload.since_of)),
                       .decided_by = std::string(term_name(workload.decided_by))};
  if (workload.object->priority_class) terms.priority_class = workload.object->priority_class->name.text();
  return terms;
}

ExplainedTerms explained_head(const scheduler::OrderedHead& head) {
  ExplainedTerms terms = explained_terms(head.workload);
  terms.claim = head.claim;
  terms.blocked = head.blocked;
  if (head.level) terms.level = *head.level;
  terms.borrows = head.borrows;
  terms.share = head.share.ratio;
  terms.weight = head.share.weight;
  return terms;
}

}  // namespace

void explain_order(const ExplainContext& context, const Workload& workload, ExplainReply& reply) {
  const auto found = scheduler::order_of(context.decisions.scheduler().state(), workload.meta.ns, workload.meta.name);
  if (!found) return;
  if (!sees_order(context)) {
    reply.notes.emplace_back(kPlaceUnknown);
    return;
  }
  ExplainedOrder order{.cluster_queue = found->cluster_queue,
                       .position = static_cast<int64_t>(found->position) + 1,
                       .pending = static_cast<int64_t>(found->pending),
                       .ahead = {},
                       .fair = found->fair,
                       .queue = {},
                       .heads = {},
                       .heads_left_out = static_cast<int64_t>(found->heads_left_out)};
  for (const auto& [term, count] : found->ahead_by)
    order.ahead.push_back({std::string(term_name(term)), static_cast<int64_t>(count)});
  for (const scheduler::OrderedWorkload& each : found->queue) order.queue.push_back(explained_terms(each));
  for (const scheduler::OrderedHead& each : found->heads) order.heads.push_back(explained_head(each));
  reply.order = std::move(order);
}

}  // namespace muster::explain
