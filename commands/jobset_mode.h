// Who is the JobSet controller of this cluster: muster itself (native), or upstream's,
// beside which muster stands (external).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "api/muster_configuration.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/api.h"

namespace muster {

// What a cluster shows of JobSet; null for what is not there.
struct JobSetTraces {
  bool has_definition = false;
  bool definition_is_ours = false;
  // Signs of a live foreign controller, each as a phrase: "its webhook configuration
  // jobset-validating-webhook-configuration".
  std::vector<std::string> foreign_controller;
};

// True: native. The error says why native mode cannot be, and what to do.
Result<bool> decide_native_jobsets(JobSetController choice, const JobSetTraces& traces);

// Reads them; fails when the API server does not say.
Result<JobSetTraces> find_jobset_traces(kube::KubeApi& api, TimePoint now);

}  // namespace muster
