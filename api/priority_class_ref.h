// Which priority class a Workload has (kueue.x-k8s.io/v1beta2).
#pragma once

#include "base/shared_text.h"

namespace muster {

// spec.priorityClassRef; `kind` is "WorkloadPriorityClass" or "PriorityClass".
struct PriorityClassRef {
  SharedText group;
  SharedText kind;
  SharedText name;

  bool operator==(const PriorityClassRef&) const = default;
};

}  // namespace muster
