// How a job starts with the values for its pods, and how these values are removed again.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/meta/constants.h"
#include "jobs/queued_job.h"
#include "jobs/template_info.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

Failure<Error> wrong_number(size_t wanted, size_t got) {
  return fail("invalid podset infos: expecting " + std::to_string(wanted) + " podset, got " + std::to_string(got));
}

// The values that a template gets back, except values that belong to its present run or to this object.
PodSetInfo restored(const PodSetInfo& before, PodSetInfo after, const JobKind& kind) {
  // Which run of its gang the pods are of: the webhook sets it, at every start.
  after.annotations.erase(std::string(kGroupEpochAnnotation));
  if (const auto epoch = before.annotations.find(kGroupEpochAnnotation); epoch != before.annotations.end())
    after.annotations.insert(*epoch);
  for (std::string_view label : kind.labels_to_keep()) {
    if (const auto found = before.labels.find(label); found != before.labels.end())
      after.labels[found->first] = found->second;
  }
  return after;
}

}  // namespace

Result<json> QueuedJob::start_patch(const std::vector<PodSetInfo>& infos) const {
  if (auto own = kind_->own_start(*job_, infos)) return *std::move(own);
  const std::vector<PodSet> pod_sets = pod_set_shapes({});
  if (infos.size() != pod_sets.size()) return wrong_number(pod_sets.size(), infos.size());
  std::vector<json> patches;
  for (size_t i = 0; i < infos.size(); ++i) {
    const PodSetInfo before = info_of_template(pod_sets[i].pod_template);
    PodSetInfo after = before;
    if (auto merged = merge(after, infos[i]); !merged) return fail(merged.error().message);
    // Kueue added it for a controller of slices that does not exist here: no other component would remove it.
    std::erase(after.scheduling_gates, kElasticJobGate);
    patches.push_back(template_patch(before, after));
    if (!kind_->is_written(*job_, i) && patches.back().is_null()) patches.back() = json::object();
  }
  json patch = kind_->suspend_patch(false);
  if (const json edited = kind_->edit(*job_, patches, &infos); !edited.is_null()) patch.update(edited, true);
  return patch;
}

json QueuedJob::restore_patch(const std::vector<PodSetInfo>& infos) const {
  if (auto own = kind_->own_restore(*job_, infos)) return *std::move(own);
  if (infos.empty()) return nullptr;
  const std::vector<PodSet> pod_sets = pod_set_shapes({});
  std::vector<json> patches;
  for (size_t i = 0; i < pod_sets.size() && i < infos.size(); ++i) {
    if (!kind_->is_written(*job_, i)) {
      patches.emplace_back(nullptr);
      continue;
    }
    const PodSetInfo before = info_of_template(pod_sets[i].pod_template);
    patches.push_back(template_patch(before, restored(before, infos[i], *kind_)));
  }
  return kind_->edit(*job_, patches, &infos);
}

}  // namespace muster::jobs
