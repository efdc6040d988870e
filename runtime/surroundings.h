// What muster must learn from the API server before it can decide anything: who it is, which
// image it runs, and who the JobSet controller of the cluster is. Asked until it is known:
// what a transient error hid would otherwise be missing for the life of the process.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "api/config/muster_configuration.h"
#include "kinds/kind_description.h"
#include "kube/api.h"
#include "kube/transport/timing.h"
#include "runtime/load_settings.h"

namespace muster::runtime {

struct SurroundingsQuestion {
  JobSetController jobset_controller = JobSetController::kAuto;
  // The Pod that muster runs in. Empty: none, or its image is not needed.
  std::string pod_namespace{}, pod_name{};
  // An administrator's own, which the API server's definitions must not contradict. What is not installed, or cannot be
  // read, contradicts nothing.
  std::vector<KindDescriptionPtr> kinds{};
};

struct Surroundings {
  OwnIdentity own{};
  bool native_jobsets = false;
};

// Blocks until all of it is known. nullopt: asked to stop before. The error is an answer too:
// muster cannot run in this cluster as it is configured. `waiting` gets the reason why nothing is known yet, after each
// attempt.
Result<std::optional<Surroundings>> learn_surroundings(kube::KubeApi& api, const SurroundingsQuestion& question,
                                                       const kube::Timing& timing,
                                                       const std::function<void(const std::string& why)>& waiting,
                                                       std::stop_token stop);

// POD_NAMESPACE and POD_NAME, unless the configuration names the waiter's image, and its own kinds.
SurroundingsQuestion surroundings_question(const LoadedConfiguration& configuration);

}  // namespace muster::runtime
