// The last part of an answer about an admitted job: why its pods are late, from the pods and Events that the person can
// list. Blocks.
#pragma once

#include "api/explained.h"
#include "kinds/typed_object.h"
#include "kube/api.h"

namespace muster::commands {

// Adds the reason where the answer leaves it open (explain/late_pods.h), and a note about what the person cannot see:
// then the conditions of the Workload have the sentence.
void add_late_pods(kube::KubeApi& api, const ObjectKey& key, ExplainReply& reply);

}  // namespace muster::commands
