#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>

#include "api/review/deletion.h"
#include "jobs/size_limit.h"
#include "mutators/default_local_queue.h"
#include "mutators/default_priority_class.h"
#include "mutators/group_scheduling.h"
#include "mutators/jobset_defaults.h"
#include "mutators/keep_injected.h"
#include "mutators/keep_suspended.h"
#include "mutators/mpi_launcher_as_worker.h"
#include "mutators/multikueue_managed_by.h"
#include "mutators/mutator.h"
#include "mutators/partial_admission_off.h"
#include "mutators/pod_gates.h"
#include "mutators/queue_defaults.h"
#include "mutators/record_submitter.h"
#include "mutators/serving_template.h"
#include "mutators/suspend.h"
#include "mutators/trainjob_patch.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

// Reports to the observer what each mutator did. This costs a comparison with the previous object, and a copy
// only if something changed and another mutator follows.
class Watch {
 public:
  Watch(RuleObserver* observer, const json& before) : observer_(observer), before_(&before) {}

  void started(const Mutator& mutator) const {
    if (observer_) observer_->started(mutator.name);
  }
  void refused(const Mutator& mutator) const {
    if (observer_) observer_->finished(mutator.name, RuleOutcome::kRejected);
  }
  void finished(const Mutator& mutator, const json& object, bool is_last) {
    if (!observer_) return;
    const bool changed = observer_->wants_changes() && object != *before_;
    observer_->finished(mutator.name, changed ? RuleOutcome::kChanged : RuleOutcome::kUnchanged);
    if (!changed || is_last) return;
    snapshot_ = object;
    before_ = &snapshot_;
  }

 private:
  RuleObserver* observer_;
  const json* before_;
  json snapshot_;
};

}  // namespace

std::span<const Mutator* const> mutator_chain() {
  static constexpr std::array<const Mutator*, 17> chain = {
      &jobset_defaults,  // the next mutators see the JobSet after its defaults
      &jobset_keep_defaults,
      &default_local_queue,     // the next mutators read the queue name
      &default_priority_class,  // of queued jobs only
      &record_submitter,        // of queued jobs only
      &suspend,
      &pod_gates,
      &serving_template,
      &keep_suspended,
      &multikueue_managed_by,  // by queue name
      &mpi_launcher_as_worker,
      &trainjob_patch,
      &group_scheduling_inject,  // into the template that the previous mutators produce
      &group_scheduling_keep,
      &keep_injected,   // compares whole templates, so the barrier must already be in them
      &queue_defaults,  // of kinds that no other mutator knows
      &partial_admission_off,
  };
  return chain;
}

AdmissionResponse mutate(const Review& review, RuleObserver* observer) {
  const AdmissionRequest& request = review.request;
  if (is_step_of_deletion(request)) return AdmissionResponse::allowed(request);
  std::vector<const Mutator*> mine;
  std::copy_if(mutator_chain().begin(), mutator_chain().end(), std::back_inserter(mine), [&](const Mutator* mutator) {
    return applies(mutator->matches, mutator->operations, request) &&
           (!mutator->of_native_jobsets || review.settings.runs_jobsets());
  });
  if (mine.empty()) return AdmissionResponse::allowed(request);
  if (auto error = jobs::beyond_size_limit(request)) return AdmissionResponse::denied(request, {*std::move(error)});

  json object = request.object;
  Watch watch(observer, request.object);
  for (const Mutator* mutator : mine) {
    watch.started(*mutator);
    if (const std::optional<MutationError> error = mutator->mutate(review, object)) {
      watch.refused(*mutator);
      return AdmissionResponse::refused(request, error->code, error->reason, error->message);
    }
    watch.finished(*mutator, object, mutator == mine.back());
  }
  return AdmissionResponse::patched(request, object);
}

}  // namespace muster::mutators
