// Jobs for an engine, a reconciler that marks them, and the steps of a test.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/job.h"
#include "engine/engine.h"
#include "kinds/watched_kinds.h"

namespace muster::test {

// Of the annotations that muster keeps of a Job in no queue (jobs/kept/kept_object.h).
inline constexpr const char* kSeen = "muster.batch/seen";

inline Now at(int64_t ms) {
  const auto offset = std::chrono::milliseconds(ms);
  return {TimePoint(std::chrono::seconds(1'800'000'000) + offset), MonotonicTime(offset)};
}

inline TypedObject job(const std::string& name, uint64_t version,
                       nlohmann::json annotations = nlohmann::json::object()) {
  return read_object(kJobs, {{"apiVersion", "batch/v1"},
                             {"kind", "Job"},
                             {"metadata",
                              {{"namespace", "team-a"},
                               {"name", name},
                               {"uid", name},
                               {"resourceVersion", std::to_string(version)},
                               {"annotations", std::move(annotations)}}}});
}

inline ObjectKey key(const char* name) {
  return {&kJobs, "team-a", name};
}

// Wants every Job to bear the annotation kSeen.
inline reconcilers::Plan mark(const ObjectKey& target, const reconcilers::ReconcileContext& context) {
  const Job* found = context.state.find<Job>(target.ns, target.name);
  if (found == nullptr || !found->meta.annotation(kSeen).empty()) return {};
  reconcilers::Write write{
      .verb = reconcilers::Verb::kPatch, .target = target, .body = {{"metadata", {{"annotations", {{kSeen, "yes"}}}}}}};
  write.events.push_back({.regarding = {.kind = "Job", .name = target.name}, .reason = "Seen"});
  return {.writes = {std::move(write)}};
}

inline void requests_for_jobs(const state::ClusterState&, const TypedObject& object, std::vector<ObjectKey>& keys) {
  if (std::holds_alternative<JobPtr>(object)) keys.push_back(key_of(object));
}

inline const reconcilers::Reconciler kMark{.name = "mark", .requests_for = requests_for_jobs, .reconcile = mark};
inline const reconcilers::Reconciler* const kMarkOnly[] = {&kMark};

inline void lead(engine::Engine& engine) {
  for (const WatchedKind& kind : watched_kinds()) engine.apply(engine::KindListed{kind.type, {}}, at(0));
  engine.apply(engine::LeadershipChanged{true}, at(0));
}

// The one write that the engine asks for.
inline engine::Command only_write(engine::Engine& engine, Now now) {
  engine::Commands commands = engine.plan(now);
  REQUIRE(commands.writes.size() == 1);
  return std::move(commands.writes[0]);
}

}  // namespace muster::test
