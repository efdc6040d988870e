// What the queues say of the Jobs of a JobSet that muster would start now, because it is the JobSet controller.
#pragma once

#include <optional>
#include <vector>

#include "api/job.h"
#include "api/jobset.h"
#include "api/pod_set.h"
#include "reconcilers/reconciler.h"

namespace muster::reconcilers {

// For one pass; the questions are answered when they are asked first, since most passes start nothing.
class JobSetQuota {
 public:
  // Both must outlive it.
  JobSetQuota(const ReconcileContext& context, const JobSet& jobset) : context_(context), jobset_(jobset) {}

  // Whether the JobSet can run now (lets_run()), so that its Jobs can be made, resumed and scaled.
  bool allows_start();

  enum class Start {
    kNow,
    kLater,  // the Job is queued by itself, and its own Workload starts it
    kNotSo,  // the Job is not what the JobSet asks for, or requests more than the quota has for it
  };
  // Of an existing Job that is to be resumed or to grow; allows_start() is true.
  Start judge(const Job& job);

 private:
  struct Answer {
    bool runs = false;
    // What the quota counts for the pods of its Jobs; nullopt: no quota counts them.
    std::optional<std::vector<PodSet>> counted{};
  };
  const Answer& answer();
  Answer ask() const;
  bool is_queued_by_itself(const Job& job) const;

  const ReconcileContext& context_;
  const JobSet& jobset_;
  std::optional<Answer> answer_;
};

}  // namespace muster::reconcilers
