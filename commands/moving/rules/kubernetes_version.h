// What muster needs of Kubernetes, by its minor version. docs/kubernetes-versions.md has the same rows; a test
// compares. Pure.
#pragma once

#include <optional>
#include <vector>

#include "commands/moving/rules/finding.h"

namespace muster::commands {

// Of Kubernetes 1.x: older ones are refused by the chart, by preflight and by doctor.
inline constexpr int kOldestMinor = 31;

// Adds a Blocker for a Kubernetes that is too old, else a Note for each feature that it lacks. nullopt: the version is
// not known, and nothing is added.
void judge_kubernetes(std::optional<int> minor, bool with_features, std::vector<Finding>& findings);

}  // namespace muster::commands
