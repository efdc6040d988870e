#include "state/demand/demand_source.h"

namespace muster::state {

void DemandDraft::refuse(std::string_view why) {
  if (misconfigured.empty()) misconfigured = why;
}

// One error alone, several errors in brackets.
void DemandDraft::refuse(std::string_view what, const FieldErrors& errors) {
  if (errors.empty()) return;
  std::string list;
  for (const FieldError& error : errors) list += (list.empty() ? "" : ", ") + error.text();
  refuse(std::string(what) + ": " + (errors.size() > 1 ? "[" + list + "]" : list));
}

FieldPath path_of_pod(size_t pod_set) {
  return FieldPath("spec.podSets").index(pod_set).child("template").child("spec");
}

}  // namespace muster::state
