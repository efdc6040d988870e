// What no rule is asked about, because of its sheer number of parts: each rule takes microseconds
// for each of them, and an object of 3 MiB can have a million.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "api/meta/field_error.h"
#include "api/review/admission_review.h"

namespace muster::jobs {

// Entries of spec.replicatedJobs of one JobSet.
inline constexpr size_t kMostReplicatedJobs = 10'000;

// Jobs that muster runs of one JobSet at a time.
inline constexpr int64_t kMostJobsOfAJobSet = 10'000;

// The only error in the answer to such a request; nullopt: the rules can run.
std::optional<FieldError> beyond_size_limit(const AdmissionRequest& request);

}  // namespace muster::jobs
