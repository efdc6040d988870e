// Exclusive placement (annotation alpha.jobset.sigs.k8s.io/exclusive-topology): all pods of one child
// Job share one domain of the topology, and no pod of another exclusively placed Job of the same
// priority is in it. Pure.
//
// JobSet's own controller gives the affinity to the leader pod only, in a webhook for pods, and lets the other
// pods follow with a node selector when the leader has been scheduled; a controller deletes followers in other
// domains. Here every pod has the affinity, as part of its Job's template: no pod needs a webhook, waits for
// another pod or is deleted, and muster needs no permission on pods or nodes. kube-scheduler has the cost: it
// checks the pods of the Job for each pod, not for one of them. Source: kubernetes-sigs/jobset,
// pkg/webhooks/pod_webhook.go.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace muster::reconcilers {

// Edits the pod template of a Job whose labels are set, if its annotations ask for exclusive placement
// and not for the strategy by node selectors. `priority` is what its pods will have.
void place_exclusively(int32_t priority, nlohmann::json& pod_template);

}  // namespace muster::reconcilers
