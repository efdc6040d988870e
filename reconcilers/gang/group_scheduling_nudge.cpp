#include "reconcilers/gang/group_scheduling_nudge.h"

#include "api/meta/constants.h"
#include "api/pod.h"

namespace muster::reconcilers {

void nudge(const state::GangRun& run, std::string_view verdict, TimePoint now, Plan& plan) {
  int left = kNudgesPerPlan - static_cast<int>(plan.writes.size());
  for (const auto& [place, pod] : run.waiting) {
    const TimePoint due = place.first;
    // A time that is further ahead than the longest interval was written before the clock was set back.
    if (due > now && due <= now + state::kLongestNudgeInterval) return plan.wake_at(due);
    if (left-- <= 0) return plan.wake_at(now);
    const auto last = state::read_nudge(pod->meta.annotation(kGroupNudgeAnnotation));
    const state::Nudge next{std::string(verdict), last ? last->count + 1 : 1, now};
    // Annotations can be written with a pod's status, and that right changes no image and no command.
    plan.writes.push_back(
        {.verb = Verb::kPatchStatus,
         .target = key_of(kPods, pod->meta),
         .body = with_version(pod->meta,
                              {{"metadata", {{"annotations", {{kGroupNudgeAnnotation, state::to_text(next)}}}}}})});
  }
}

}  // namespace muster::reconcilers
