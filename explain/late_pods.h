// Adds to an answer why the pods are late: the sentence, the token, and what a reader can do about it. The part after
// admission that only the pods themselves and the Events know (api/pods/pod_reason.h). Pure.
#pragma once

#include "api/explained.h"
#include "api/pods/pod_reason.h"

namespace muster::explain {

// Whether pods are the question that the answer leaves open: the job is admitted, or runs without a queue, and not all
// of its pods are ready.
bool leaves_pods_open(const ExplainReply& reply);
// Has an effect only then. The remedy of the reason replaces the advice to look at the pods.
void add_pod_reason(const PodReason& reason, ExplainReply& reply);

}  // namespace muster::explain
