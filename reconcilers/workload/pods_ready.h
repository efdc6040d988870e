// The condition PodsReady of a Workload as its job shows it. Pure.
// Source: Kueue, pkg/workload and jobframework (reasons and messages).
#pragma once

#include <string_view>

#include "api/workload.h"
#include "jobs/queued_job.h"

namespace muster::reconcilers {

// The message of PodsReady=False with WaitForStart.
inline constexpr std::string_view kNotAllPodsReady = "Not all pods are ready or succeeded";

// For WorkloadEditor::set_pods_ready(). The texts are constants.
struct PodsReady {
  bool is_true = false;
  std::string_view reason;
  std::string_view message;

  // `present`: the condition, or null. The message is not compared: it follows from the reason.
  bool is_in(const Condition* present) const {
    return present != nullptr && present->status == (is_true ? "True" : "False") && present->reason == reason;
  }
};

// What PodsReady shall be. Once all pods were ready, a loss of one waits for recovery; the next part of a job that
// starts in stages waits for its start.
PodsReady pods_ready_after(const Workload& workload, bool pods_ready, const jobs::Stages& stages = {});
PodsReady pods_ready_after(const Workload& workload, const jobs::QueuedJob& job);

}  // namespace muster::reconcilers
