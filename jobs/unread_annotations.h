// Labels and annotations without effect: those of Kueue 0.20 that muster does not read, and misspelt ones. A user has
// to get a warning: they are silently without effect otherwise.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "jobs/job_kind.h"

namespace muster::jobs {

// One sentence for each such annotation of the object and, with its kind, of its pod templates. `kind` can be null.
std::vector<std::string> unread_annotations_of(const nlohmann::json& object, const JobKind* kind);

// One sentence for each label and annotation of the object, of its pod templates, and of the Job templates of a JobSet
// that differs from a known key by a letter or two (api/meta/known_keys.h): "metadata.labels[kueue.x-k8s.io/queue-nam]:
// is not known; did you mean kueue.x-k8s.io/queue-name?". `kind` can be null. At most kMostMisspeltKeys sentences, and
// at most kMostComparedKeys keys are compared letter by letter, whatever the object holds.
std::vector<std::string> misspelt_keys_of(const nlohmann::json& object, const JobKind* kind);
inline constexpr size_t kMostMisspeltKeys = 10;
inline constexpr size_t kMostComparedKeys = 50;

}  // namespace muster::jobs
