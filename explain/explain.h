// Why an object does not run, or what else it does: the answer of `muster explain`, found in
// what the engine knows. Pure, and some 20 ms where 50,000 Workloads wait, most of it for their order.
//
// One reason is reported, the first obstacle on the path of a job: it is not
// queued, has no Workload, is inactive, stops, backs off, its queue is missing or stopped, it
// waits in it, its checks are pending, its pods are not ready, it runs, it is finished. Reasons
// are Kueue's tokens where Kueue has one.
#pragma once

#include "api/explained.h"
#include "explain/unseen.h"
#include "reconcilers/reconciler.h"

namespace muster::explain {

// `key` is of a kind of jobs/naming/named_kind.h, and its object need not exist. A replica that does not
// lead (`leads`) decides nothing and knows no decision that is not written yet; the answer
// says so where it matters. Where a reason rests on something unseen, it is "Unknown", and the headline names that.
ExplainReply explain(const ObjectKey& key, const reconcilers::ReconcileContext& context, bool leads,
                     const Unseen& unseen = {});

}  // namespace muster::explain
