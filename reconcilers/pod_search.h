// The question whether pods of a job are left, for jobs whose status cannot say it any more: those that are deleted, or
// whose pods were orphaned. It is a command beside the writes (Verb::kFindPods), and the answer is in the state
// (state/pod_searches.h). muster watches no pods for it: it asks before quota is released, and then after growing
// pauses while there are pods.
//
// The API server is asked for metadata only, in small pages until one pod counts. Pure.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

// A pod whose grace period ended so long ago is on a Node that is gone or unreachable: its kubelet does not answer, and
// it would hold quota without end.
constexpr Duration kDeadNodeBound = std::chrono::minutes(5);

// The field selector of pods that have not ended.
constexpr std::string_view kPodsThatRun = "status.phase!=Succeeded,status.phase!=Failed";

struct PodSelection {
  ObjectKey asker;       // the key that is reconciled
  std::string labels{};  // a label selector
  // Pods that were created later belong to another job of the same name; zero: all count.
  Timestamp created_before{};
};

// Whether such pods are left, by the API server. While that is not known, or there are some, the plan asks or waits,
// and the answer is true.
bool pods_are_left(const std::string& ns, const PodSelection& selection, const ReconcileContext& context, Plan& plan);

// For who carries the question out: the label selector, and whether this pod of the list counts.
std::string label_selector_of(const Write& search);
bool is_left(const Write& search, const nlohmann::json& pod);

}  // namespace muster::reconcilers
