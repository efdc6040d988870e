// The barrier of in-place restarts (failurePolicy.restartStrategy: InPlaceRestart). In every pod an agent holds the
// workers back and writes as an annotation of the pod which attempt its containers have come to. When all pods have
// come to the same attempt, it becomes the JobSet's current attempt, and the agents let the workers start. When a pod
// is an attempt ahead, because its containers or the pod itself began again, the attempt before becomes the previous
// one, and the agents of the other pods let their containers restart.
//
// Pure. An agent's word is a user's: see barrier_of(). Source: kubernetes-sigs/jobset, KEP-467 and
// pkg/controllers/in_place_restart.go.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/jobset.h"
#include "api/pods/in_place_pod.h"
#include "reconcilers/jobset/jobset_attempt.h"

namespace muster::reconcilers {

struct InPlaceBarrier {
  // There were more restarts than maxRestarts: the JobSet fails.
  bool exhausted = false;
  // Of the status as it shall be.
  std::optional<int32_t> current;
  std::optional<int32_t> previous;
};

// `pods` are those that say that they belong to the JobSet. Only live pods whose controller is a Job of the present run
// count. An honest agent is at most one attempt ahead of the JobSet: a higher number counts as none, so that one
// write can neither use up the restarts of a JobSet nor keep its pods restarting. Pods that have succeeded are not
// waited for. A suspended JobSet without pods begins again with attempt 0 when it is resumed: a preemption is no
// restart.
InPlaceBarrier barrier_of(const JobSet& jobset, const JobSetAttempt& run, const std::vector<const InPlacePod*>& pods);

}  // namespace muster::reconcilers
