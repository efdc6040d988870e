// Reads the pods of one job and the Warnings about them and about what makes them, with bounds: for answers to people,
// and for nothing that is decided. Blocks.
#pragma once

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/pods/pod_reason.h"
#include "base/clock.h"
#include "kube/api.h"

namespace muster::runtime {

struct PodListBounds {
  int pages = 8;  // of pods, and of Events
  int page = 250;
  size_t page_bytes = 8UL * 1024 * 1024;
  Duration timeout = std::chrono::seconds(10);  // of each request
  std::optional<MonotonicTime> not_after{};     // of all; nullopt: no limit
};

struct SeenPods {
  std::vector<SeenPod> pods{};
  std::vector<SeenEvent> events{};
  bool cut = false;            // there are more pods than the bounds allow, or a page after the first was not answered
  std::string pods_refused{};  // the API server's sentence; empty: they were read
  std::string events_refused{};
  bool pods_forbidden = false, events_forbidden = false;
};

// `pods`: the label selector. Events are read only where they can say more (events_matter). No request is repeated.
SeenPods see_pods(kube::KubeApi& api, const std::string& ns, const std::string& pods, const PodQuestion& question,
                  const PodListBounds& bounds, std::stop_token stop = {});
// The dominant reason of these. Pods that were not read are not missing.
std::optional<PodReason> why_pods_are_late(PodQuestion question, const SeenPods& seen);

}  // namespace muster::runtime
