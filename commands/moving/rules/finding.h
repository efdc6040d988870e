// What `muster preflight` and `muster doctor` say of a cluster: findings, the most damaging first. Pure.
// Texts of the cluster (names, messages of the kubelet and the scheduler) are escaped where they are printed.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::commands {

// From the most to the least damaging.
enum class Severity {
  kBlocker,  // the move cannot begin, or muster does not work
  kHarm,     // work runs without quota, waits for ever or is refused
  kChange,   // something acts otherwise than before, or not at all
  kUnknown,  // it could not be read
  kNote,     // worth knowing; nothing is wrong
};
std::string_view severity_name(Severity severity);  // "Blocker"

struct Finding {
  Severity severity = Severity::kNote;
  std::string rule{};                  // "kind-not-queued": equal for all findings of one rule
  std::vector<std::string> objects{};  // "RayJob team-a/train"
  std::string problem{};               // a sentence
  std::string remedy{};                // what to do: a sentence or a command; empty: nothing
  // What follows from it and ends with it. They have no consequences.
  std::vector<Finding> consequences{};
};

// One finding for all that have severity, rule, problem and remedy in common; ordered by severity, then by rule and
// problem. Objects are ordered by name, each once.
std::vector<Finding> sorted_findings(std::vector<Finding> findings);
// Whether something is to be done: there is a finding that is no note.
bool needs_action(const std::vector<Finding>& findings);

enum class FindingFormat { kTable, kJson, kYaml };
Result<FindingFormat> parse_finding_format(std::string_view text);
// `clean` is the sentence for a list without anything to be done.
std::string print_findings(const std::vector<Finding>& findings, FindingFormat format, std::string_view clean);

}  // namespace muster::commands
