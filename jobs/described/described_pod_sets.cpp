#include "jobs/described/described_pod_sets.h"

namespace muster::jobs {

std::vector<PodSet> pod_sets_of(const DescribedJob& job) {
  std::vector<PodSet> pod_sets;
  for (const DescribedPodSet& pod_set : job.pod_sets) {
    pod_sets.push_back({.name = pod_set.name,
                        .count = pod_set.count,
                        .min_count = std::nullopt,
                        .pod_template = pod_set.pod_template,
                        .topology_request_text = {},
                        .asks_for_topology = false});
  }
  return pod_sets;
}

}  // namespace muster::jobs
