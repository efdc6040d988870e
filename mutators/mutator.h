// The mutating webhook: each mutator edits one object in turn, in the order of
// chain.cpp, and the patch is computed once at the end. Pure; every mutator is
// idempotent (a test runs each of them twice).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/review/review.h"

namespace muster::mutators {

// Why a mutator cannot go on; becomes a refusal of the whole request.
struct MutationError {
  int code = 403;
  std::string reason = "Forbidden";
  std::string message;
};

struct Mutator {
  std::string_view name;  // as in metrics: "suspend"
  std::vector<RuleMatch> matches;
  std::vector<Operation> operations;
  // Edits `object`, which starts as review.request.object and carries the edits of
  // the mutators before this one.
  std::optional<MutationError> (*mutate)(const Review& review, nlohmann::json& object);
  // In force only where muster runs JobSets; elsewhere JobSet's own webhook does the same.
  bool of_native_jobsets = false;
};

// In the order in which they run; order is meaning.
std::span<const Mutator* const> mutator_chain();

// Runs the chain over one request. `observer` can be null.
AdmissionResponse mutate(const Review& review, RuleObserver* observer = nullptr);

}  // namespace muster::mutators
