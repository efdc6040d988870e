#include "jobs/batch_job/batch_job.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "api/codec/go_strconv.h"
#include "api/codec/json.h"
#include "api/config/rule_settings.h"
#include "api/job.h"
#include "api/meta/constants.h"
#include "api/pods/counts.h"
#include "api/workload.h"
#include "base/whole_number.h"
#include "jobs/edit.h"
#include "jobs/ended_by_condition.h"
#include "kinds/kind_description.h"

namespace muster::jobs {
namespace {

using nlohmann::json;

constexpr std::array kLabelsOfOneJob = {kLegacyJobNameLabel, kLegacyControllerUidLabel, kControllerUidLabel};
constexpr std::array kLabelsToKeep = {kJobNameLabel, kLegacyJobNameLabel, kLegacyControllerUidLabel,
                                      kControllerUidLabel};

// "0,2-4" as ranges; a text that is neither a number nor a range is left out.
void read_indexes(std::string_view text, std::vector<std::pair<int32_t, int32_t>>& ranges) {
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, comma);
    const size_t dash = item.find('-');
    const auto first = whole_number<int32_t>(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : whole_number<int32_t>(item.substr(dash + 1));
    if (first && last) ranges.emplace_back(*first, *last);
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
}

// The number of indexes below `completions` that are in at least one of the lists: an elastic Job that has shrunk can
// list others.
int64_t count_indexes(const JobStatus& status, int64_t completions) {
  std::vector<std::pair<int32_t, int32_t>> ranges;
  read_indexes(status.completed_indexes, ranges);
  read_indexes(status.failed_indexes, ranges);
  std::sort(ranges.begin(), ranges.end());
  int64_t count = 0;
  int64_t next = 0;
  for (const auto& [first, end] : ranges) {
    const int64_t from = std::max<int64_t>(first, next);
    const int64_t last = std::min<int64_t>(end, completions - 1);
    if (last < from) continue;
    count += last - from + 1;
    next = last + 1;
  }
  return count;
}

template <class Json>
std::vector<BasicPodTemplateRef<Json>> templates(Json& job) {
  Json* pod_template = existing_object(job, {"spec", "template"});
  if (!pod_template) return {};
  return {{"main", FieldPath("spec.template"), pod_template, pods_of_job_spec(object_at(job, {"spec"}))}};
}

const Job& job_of(const TypedObject& object) {
  return *std::get<JobPtr>(object);
}

int32_t pods_of(const Job& job) {
  return pods_at_once(job.parallelism, job.completions);
}

// Of the annotation kueue.x-k8s.io/job-min-parallelism.
std::optional<int32_t> min_count(const Job& job) {
  return whole_number<int32_t>(job.meta.annotation(kMinParallelismAnnotation));
}

class BatchJob final : public JobKind {
 public:
  BatchJob() : JobKind(kJobs, "batch/job", "kubernetes.io/job-controller", true) {}

  bool suspended(const json& job) const override { return bool_at(job, {"spec", "suspend"}); }
  bool stopped(const json& job) const override {
    return suspended(job) && annotation(job, kStoppingAnnotation) != "true";
  }
  void set_suspend(json& job, bool suspend) const override { set_suspend_field(job, suspend); }
  bool takes_elastic_jobs() const override { return true; }
  // Pods only: its Workload never counts the pods of another job.
  const OwnedKind* find_owned(std::string_view, std::string_view) const override { return nullptr; }
  std::vector<PodTemplateRef> pod_templates(json& job) const override { return templates(job); }
  std::vector<ConstPodTemplateRef> read_pod_templates(const json& job) const override { return templates(job); }

  bool suspended(const TypedObject& job) const override { return job_of(job).suspended; }
  bool stopping(const TypedObject& job) const override {
    return job_of(job).meta.annotation(kStoppingAnnotation) == "true";
  }
  std::string_view managed_by(const TypedObject& job) const override { return job_of(job).managed_by; }
  // The template of a JobSet's Job is not.
  bool readable(const TypedObject& job) const override { return job_of(job).pod_template.spec != nullptr; }
  bool active(const TypedObject& job) const override { return job_of(job).status.active != 0; }
  std::string pod_selector(const TypedObject& job) const override {
    const std::string& own = job_of(job).pod_selector;
    return own.empty() ? JobKind::pod_selector(job) : own;
  }
  std::string pod_selector(std::string_view, std::string_view uid) const override {
    return std::string(kControllerUidLabel).append("=").append(uid);
  }
  bool pods_ready(const TypedObject& object) const override {
    const Job& job = job_of(object);
    return int64_t{job.status.succeeded} + job.status.ready + job.status.uncounted_succeeded >= pods_of(job);
  }
  std::optional<JobEnd> end(const TypedObject& job) const override { return end_of(job_of(job)); }

  std::vector<ReclaimablePod> reclaimable_pods(const TypedObject& object) const override {
    const Job& job = job_of(object);
    const int64_t pods = pods_of(job);
    const int64_t completions = job.completions.value_or(job.parallelism);
    const int64_t ended = job.indexed ? count_indexes(job.status, completions) : job.status.succeeded;
    if (pods <= 1 || ended == 0) return {};
    const int64_t remaining = std::max<int64_t>(completions - ended, 0);
    if (remaining >= pods) return {};
    return {{.name = "main", .count = static_cast<int32_t>(pods - remaining)}};
  }

  std::vector<PodSet> pod_set_shapes(const TypedObject& object, const RuleSettings& settings) const override {
    const Job& job = job_of(object);
    return {{.name = "main",
             .count = pods_of(job),
             .min_count = settings.enabled(Gate::kPartialAdmission) ? min_count(job) : std::nullopt,
             .pod_template = job.pod_template,
             .topology_request_text = {},
             .asks_for_topology = false}};
  }
  json topology_labels(const TypedObject&, size_t) const override {
    return {{"podIndexLabel", kCompletionIndexAnnotation}};
  }
  std::span<const std::string_view> labels_of_one_job() const override { return kLabelsOfOneJob; }
  std::span<const std::string_view> labels_to_keep() const override { return kLabelsToKeep; }

  json edit(const TypedObject& object, const std::vector<json>& template_patches,
            const std::vector<PodSetInfo>* counts) const override {
    const Job& job = job_of(object);
    json spec;
    if (!template_patches.empty() && !template_patches[0].is_null()) spec["template"] = template_patches[0];
    if (counts != nullptr && !counts->empty() && min_count(job)) put_count(job, counts->front().count, spec);
    return spec.is_null() ? spec : json{{"spec", std::move(spec)}};
  }
  json suspend_patch(bool suspend) const override { return {{"spec", {{"suspend", suspend}}}}; }

  bool stops_in_steps() const override { return true; }
  bool has_start_time(const TypedObject& job) const override { return !job_of(job).status.start_time.is_zero(); }
  bool start_time_is_in_the_way(const TypedObject& job) const override {
    return has_start_time(job) && !muster::condition_is_true(job_of(job).status.conditions, "Suspended");
  }

 private:
  // The value that partial admission has set.
  static void put_count(const Job& job, int32_t count, json& spec) {
    if (job.parallelism != count) spec["parallelism"] = count;
    const auto follow = go_parse_bool(job.meta.annotation(kCompletionsEqualParallelismAnnotation));
    if (follow && *follow && job.completions != count) spec["completions"] = count;
  }
};

const BatchJob kBatchJob;

}  // namespace

std::optional<JobEnd> end_of(const Job& job) {
  return ended_by_condition(job.status.conditions, "Complete", "Failed");
}

const JobKind& batch_job = kBatchJob;

}  // namespace muster::jobs
