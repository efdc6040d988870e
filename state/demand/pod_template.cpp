// The containers of a pod, and what the pod as a whole requests, with the overhead that a RuntimeClass has filled in.
#include "state/demand/demand_source.h"

namespace muster::state {
namespace {

void add_pod_requests(const DemandContext&, DemandDraft& draft) {
  FieldErrors beyond_limits;
  for (size_t i = 0; i < draft.pods.size(); ++i) {
    PodDemand& pod = draft.pods[i];
    append(beyond_limits, check_limits(pod.resources, path_of_pod(i)));
    ResourceList requests = pod_requests(pod.resources);
    if (pod.requests.empty())
      pod.requests = std::move(requests);
    else
      add(pod.requests, requests);
  }
  draft.refuse("resources validation failed", beyond_limits);
}

}  // namespace

extern const DemandSource pod_template_source{.name = "pod_template", .add = &add_pod_requests};

}  // namespace muster::state
