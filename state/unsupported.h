// Objects that ask for what muster does not do. Its webhooks refuse new ones; those that are
// older, from Kueue or from JobSet, are found here, so that users need not guess why such an object does not act.
// Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/config/reconciler_settings.h"
#include "kinds/typed_object.h"

namespace muster::state {

struct Unsupported {
  std::string what;  // the field or feature: a label of a metric, so one of few
  std::string note;  // sentences for a person

  bool operator==(const Unsupported&) const = default;
};

// At most one of each `what`; empty for almost every object.
std::vector<Unsupported> unsupported_in(const TypedObject& object, const ReconcilerSettings& settings);

// Whether an eviction ends the pods of this Workload. Its controller is of a kind that muster runs, or
// of one of integrations.externalFrameworks; or it has none, so whoever made it obeys its conditions.
bool can_be_stopped(const Workload& workload, const QueueSettings& settings);
// Why muster gives such a Workload no quota: a sentence; empty: it can be stopped. Otherwise an
// ownerReference, which is only text, would reserve quota permanently: no Workload can preempt this Workload.
std::string why_never_admitted(const Workload& workload, const QueueSettings& settings);

// JobSets in these namespaces pass no webhook: they have neither defaults nor passed a rule, and
// muster does not run them.
bool is_outside_webhooks(std::string_view ns, const ReconcilerSettings& settings);

}  // namespace muster::state
