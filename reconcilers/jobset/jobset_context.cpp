#include "reconcilers/jobset/jobset_context.h"

#include <utility>

#include "kinds/typed_object.h"
#include "reconcilers/command.h"

namespace muster::reconcilers {

using nlohmann::json;

state::Maker maker_of(const JobSet& jobset, std::string part) {
  return {jobset.meta.uid, std::move(part)};
}

void patch_job(const Job& job, Verb verb, json patch, Plan& plan) {
  // A run is suspended as a whole or not at all: a Job that is skipped, because its status has just changed,
  // would continue as a part of the next run.
  const bool stops = patch == json{{"spec", {{"suspend", true}}}};
  if (!stops) patch = with_version(job.meta, std::move(patch));
  plan.writes.push_back({.verb = verb, .target = key_of(kJobs, job.meta), .body = std::move(patch)});
}

void delete_jobs(const JobSetContext& context, const std::vector<const Job*>& jobs,
                 const std::optional<state::Maker>& maker, Plan& plan) {
  const bool pauses = maker && context.state.writes().pauses().left(*maker, context.now.monotonic);
  for (const Job* job : jobs) {
    if (job->meta.deleting) continue;
    if (pauses && !job->suspended && !job->complete() && !job->failed())
      patch_job(*job, Verb::kPatch, {{"spec", {{"suspend", true}}}}, plan);
    plan.writes.push_back({.verb = Verb::kDelete,
                           .target = key_of(kJobs, job->meta),
                           .uid = job->meta.uid,
                           .propagation = Propagation::kForeground,
                           .maker = maker});
  }
}

void remake_jobs(const JobSetContext& context, const std::vector<const Job*>& jobs, Plan& plan) {
  delete_jobs(context, jobs, maker_of(context.jobset, "remade Jobs"), plan);
}

void delete_older_jobs(const JobSetContext& context, Plan& plan) {
  const std::string attempt = std::to_string(context.jobset.status.restarts);
  delete_jobs(context, context.run.older, maker_of(context.jobset, "Jobs before attempt " + attempt), plan);
}

}  // namespace muster::reconcilers
