// How the pods of a job are found when the job itself is gone: a label selector, kept on its Workload where neither the
// name nor the uid of the job says it.
#pragma once

#include <cstddef>
#include <string_view>

namespace muster::jobs {

// On a Workload, written by muster alone.
inline constexpr std::string_view kPodSelectorAnnotation = "muster.batch/pod-selector";
// As text; a longer one has no place in an annotation, or in the query of a list.
inline constexpr size_t kLongestPodSelector = 4096;

}  // namespace muster::jobs
