// The move from Kueue, and from JobSet's controller, to muster and back, as steps that follow from the state of the
// cluster alone: so a move that was interrupted goes on where it stood, and each step is safe to repeat. Pure.
//
// The order keeps two things true at every moment. Never do two schedulers decide: muster waits while Kueue is there
// (runtime/kueue/kueue_presence.h), and afterwards muster holds Kueue's Lease permanently. And no job starts without
// quota: muster's webhooks, which fail closed, are there before Kueue's go, and the other way round on the way back.
//
// What is removed or changed is kept in the ConfigMap muster-adoption of muster's namespace, until the way back ends.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "commands/moving/rules/cluster_dump.h"
#include "commands/moving/rules/components.h"
#include "kube/resource.h"
#include "manifests/names.h"

namespace muster::commands {

inline constexpr std::string_view kAdoptionRecordName = "muster-adoption";

struct AdoptionChange {
  enum class Verb { kCreate, kMerge, kUpdate, kDelete };
  Verb verb;
  kube::Resource resource;
  std::string ns{}, name{};
  nlohmann::json body{};      // the object, or the merge patch; of kDelete the object that is meant, by its uid
  std::string subresource{};  // "status"
};

struct AdoptionStep {
  std::string name{};      // "scale-down"
  std::string sentence{};  // what it does: "scale Deployment kueue-system/... down to 0"
  bool done = false;
  // In this order. None: the step waits for others to do something.
  std::vector<AdoptionChange> changes{};
  // Every object of these kinds is written as it is, so that it is stored in the storage version; before the changes.
  std::vector<kube::Resource> rewrites{};
  // To be waited after the changes, until every API server knows them.
  Duration settle{};
};

struct AdoptionOptions {
  std::string muster_namespace{manifests::kDefaultNamespace};
  bool jobset = false;  // JobSet's controller as well
  // muster's webhook configurations, to be created where they are missing.
  std::vector<nlohmann::json> webhooks{};
};

// All steps in their order, the done ones too. None: there is nothing to adopt, or to take back.
std::vector<AdoptionStep> adoption_steps(const ClusterDump& state, const AdoptionOptions& options);
std::vector<AdoptionStep> undo_steps(const ClusterDump& state, const AdoptionOptions& options);
// nullptr: all are done.
const AdoptionStep* next_step(const std::vector<AdoptionStep>& steps);

// Why a move must not begin, beyond what preflight says: no muster, or one with another configuration than Kueue's.
// Empty: nothing.
std::vector<Finding> adoption_obstacles(const ClusterDump& state, const AdoptionOptions& options,
                                        bool keep_configuration);

// In whose name adopt holds a Lease of this namespace: muster's guard takes it for muster.
std::string adoption_holder(std::string_view ns);

// The Deployment that is called muster; nullptr: it is not there.
const nlohmann::json* muster_deployment(const ClusterDump& state, const std::string& ns);

}  // namespace muster::commands
