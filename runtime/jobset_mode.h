// Who is the JobSet controller of this cluster: muster itself (native), or upstream's,
// beside which muster stands (external).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "api/config/muster_configuration.h"
#include "base/clock.h"
#include "base/result.h"
#include "kube/api.h"

namespace muster::runtime {

// What a cluster shows of JobSet; null for what is not there.
struct JobSetTraces {
  bool has_definition = false;
  bool definition_is_ours = false;
  // Signs of a live foreign controller, each as a phrase: "its webhook configuration
  // jobset-validating-webhook-configuration".
  std::vector<std::string> foreign_controller;
  // The namespace in which its webhook configuration says that it runs.
  std::string foreign_namespace{};
};

// User name of the service account that JobSet's own controller runs as; empty: it is not there. Only
// an administrator can write the webhook configuration that names its namespace, whereas any user who can create
// namespaces could come to own jobset-system before it is installed.
std::string foreign_controller_user(const JobSetTraces& traces);

// True: native. The error says why native mode cannot be, and what to do.
Result<bool> decide_native_jobsets(JobSetController choice, const JobSetTraces& traces);

// Reads them; fails when the API server does not say. Where the choice is external, only the webhook configuration is
// read.
Result<JobSetTraces> find_jobset_traces(kube::KubeApi& api, JobSetController choice, TimePoint now,
                                        std::stop_token stop = {});

}  // namespace muster::runtime
