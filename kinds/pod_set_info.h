// What an admission adds to the pods of one pod set, and what a stop takes away again:
// the part of a pod template that can change while a job is suspended. Pure values.
// Source: Kueue, pkg/podset.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/selectors.h"
#include "api/tolerations.h"
#include "base/result.h"

namespace muster {

struct PodSetInfo {
  std::string name;
  int32_t count = 0;
  Labels labels;
  Labels annotations;
  Labels node_selector;
  std::vector<Toleration> tolerations;
  std::vector<std::string> scheduling_gates;  // by name
};

// Of a pod template as JSON; name and count are the caller's.
PodSetInfo info_of_template(const nlohmann::json& pod_template);

// Adds what `more` says. A key that is there with another value is an error, which names
// the key and both values; tolerations and gates that are there are not added twice.
Outcome<> merge(PodSetInfo& info, const PodSetInfo& more);

// The merge patch that turns a pod template that reads as `before` into one that reads as
// `after`; null when nothing changes.
nlohmann::json template_patch(const PodSetInfo& before, const PodSetInfo& after);

}  // namespace muster
