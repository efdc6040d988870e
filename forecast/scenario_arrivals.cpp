// The arrivals of jobs, and the remaining work of existing jobs.
#include <algorithm>

#include "api/meta/names.h"
#include "api/workload.h"
#include "forecast/scenario_build.h"
#include "jobs/serving/serving_set.h"
#include "kinds/serving_types.h"

namespace muster::forecast {
namespace {

using nlohmann::json;

constexpr int64_t kMostArrivals = 20'000'000;

}  // namespace

Outcome<> ScenarioBuild::take_table() {
  std::map<std::string, uint32_t> known;
  for (const ArrivalRow& row : options_.table) {
    PlainJob like = row.job;
    like.name.clear();
    const std::string key = to_manifest(like).dump();
    auto shape = known.find(key);
    if (shape == known.end()) {
      json manifest = to_manifest(row.job);
      manifest["metadata"]["uid"] = "row-" + std::to_string(row.line);
      auto made = shape_of_job(jobs::batch_job, manifest, scene_in(row.job.ns));
      if (!made) return fail(options_.table_name + ": line " + std::to_string(row.line) + ": " + made.error().message);
      made->run_time = row.run_time;
      shape = known.emplace(key, static_cast<uint32_t>(table_shapes_.size())).first;
      table_shapes_.push_back(*std::move(made));
    }
    table_.push_back({.shape = shape->second,
                      .at = row.at,
                      .run_time = row.run_time,
                      .serial = static_cast<uint32_t>(table_.size() + 1),
                      .name = row.job.name});
  }
  return Done{};
}

Outcome<> ScenarioBuild::arrange() {
  Scenario& scenario = read_.scenario;
  if (options_.random) {
    scenario.arrivals = random_arrivals(*options_.random, scenario.shapes);
    if (scenario.arrivals.empty()) return fail("there is no template: random arrivals need a job in the input");
  } else if (auto arranged = arrange_jobs(); !arranged) {
    return arranged;
  }
  arrange_stored();
  const uint32_t offset = static_cast<uint32_t>(scenario.shapes.size());
  for (JobShape& shape : table_shapes_) scenario.shapes.push_back(std::move(shape));
  for (Arrival& arrival : table_) {
    arrival.shape += offset;
    scenario.arrivals.push_back(std::move(arrival));
  }
  std::stable_sort(scenario.arrivals.begin(), scenario.arrivals.end(),
                   [](const Arrival& a, const Arrival& b) { return a.at < b.at; });
  if (scenario.arrivals.empty()) return fail("there is no job to simulate: no object of the input is in a queue");
  return Done{};
}

Outcome<> ScenarioBuild::arrange_jobs() {
  Scenario& scenario = read_.scenario;
  int64_t all = 0;
  for (uint32_t i = 0; i < traits_.size(); ++i) {
    const JobTraits& traits = traits_[i];
    Duration at = traits.arrival.value_or(Duration::zero());
    if (traits.arrival_time)
      at = std::max<Duration>(time_between(scenario.start, to_time_point(*traits.arrival_time)), Duration::zero());
    if ((all += traits.copies) > kMostArrivals)
      return fail("there are more than " + std::to_string(kMostArrivals) + " jobs; use fewer copies");
    for (uint32_t copy = 0; copy < traits.copies; ++copy) {
      scenario.arrivals.push_back({.shape = i,
                                   .at = at + traits.every * copy,
                                   .run_time = scenario.shapes[i].run_time,
                                   .serial = traits.copies == 1 ? 0 : copy + 1});
    }
  }
  return Done{};
}

std::optional<Duration> ScenarioBuild::left_of(const Workload& workload, Duration run_time) const {
  const Condition* admitted = find_condition(workload.status.conditions, kAdmittedCondition);
  if (admitted == nullptr || !admitted->is_true()) return run_time;
  // That of a Workload which cannot be listed is not known.
  if (admitted->last_transition.is_zero()) return run_time;
  const Duration gone = time_between(to_time_point(admitted->last_transition), read_.scenario.start);
  return std::max<Duration>(run_time - std::max(gone, Duration::zero()), std::chrono::seconds(1));
}

// Its pods run until they are evicted.
bool ScenarioBuild::serves(const Workload& workload) const {
  const std::string_view gvk = workload.meta.annotation(jobs::kJobOwnerGvk);
  if (gvk == jobs::gvk_of(kStatefulSets) || gvk == jobs::gvk_of(kLeaderWorkerSets)) return true;
  if (workload.meta.controller) return serving_owners_.contains(workload.meta.controller->uid);
  if (!workload.of_pod_group()) return false;
  const json owners = json::parse(workload.group_owners_text, nullptr, false);
  return std::any_of(owners.begin(), owners.end(), [&](const json& owner) {
    return serving_owners_.contains(std::string(string_at(owner, {"uid"})));
  });
}

void ScenarioBuild::arrange_stored() {
  for (Stored& stored : stored_) {
    const Workload& workload = *stored.workload;
    std::optional<JobTraits> of_job;
    if (workload.meta.controller) {
      const auto found = traits_of_owners_.find(workload.meta.controller->uid);
      if (found != traits_of_owners_.end()) of_job = found->second;
    }
    std::optional<Duration> run_time = stored.traits.run_time;
    if (!run_time && of_job) run_time = of_job->run_time;
    JobShape shape{.workload = stored.workload, .kind = "Workload", .job = workload.meta.name};
    if (const auto& owner = workload.meta.controller) {
      shape.kind = owner->kind;
      shape.job = owner->name;
    }
    shape.keeps_progress = stored.traits.keeps_progress || (of_job && of_job->keeps_progress);
    if (const std::string_view name = workload.meta.annotation(jobs::kJobOwnerName); !name.empty()) {
      const std::string_view gvk = workload.meta.annotation(jobs::kJobOwnerGvk),
                             index = workload.meta.annotation(jobs::kComponentIndex);
      shape.kind = gvk.substr(std::min(gvk.rfind('=') + 1, gvk.size()));
      shape.job = std::string(name) + (index.empty() ? "" : "-" + std::string(index));
    }
    if (run_time || !serves(workload)) shape.run_time = run_time ? *run_time : assumed_run_time(workload);
    const uint32_t index = static_cast<uint32_t>(read_.scenario.shapes.size());
    Arrival arrival{.shape = index, .stored = stored.workload};
    if (shape.run_time) arrival.run_time = left_of(workload, *shape.run_time);
    read_.scenario.arrivals.push_back(std::move(arrival));
    read_.scenario.shapes.push_back(std::move(shape));
  }
}

}  // namespace muster::forecast
