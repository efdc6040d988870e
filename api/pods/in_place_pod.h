// A pod of a JobSet that restarts in place, as far as the JobSet's barrier reads it.
// Source: k8s.io/api/core/v1; JobSet KEP-467.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "api/meta/object_meta.h"
#include "api/meta/object_pointers.h"
#include "api/meta/resource_type.h"
#include "api/pods/pod_phase.h"

namespace muster {

// Pods of JobSets that restart in place: a third watch of pods, by a label that muster gives them.
inline constexpr ResourceType kInPlacePods{"", "v1", "pods", "Pod", true, "v1", "inplace"};
inline constexpr std::string_view kInPlaceRestartLabel = "muster.batch/in-place-restart";
inline constexpr std::string_view kInPlaceRestartLabelValue = "true";

// On a pod, written by its agent: to which attempt of the JobSet the present run of its containers belongs.
inline constexpr std::string_view kInPlaceRestartAttemptAnnotation = "jobset.sigs.k8s.io/in-place-restart-attempt";
// On a JobSet: its agents do not hold pods back.
inline constexpr std::string_view kDisableInPlaceRestartAnnotation = "jobset.sigs.k8s.io/disable-in-place-restart";
// The service account of agents, in any namespace, as in JobSet's example.
inline constexpr std::string_view kInPlaceRestartAccount = "jobset-in-place-restart";

struct InPlacePod {
  ObjectMeta meta;
  std::string phase;  // "Pending", "Running", "Succeeded", "Failed", "Unknown"
  // What its agent has written (jobset.sigs.k8s.io/in-place-restart-attempt). nullopt: nothing yet, or no whole number
  // from 0 to 2^31-1.
  std::optional<int32_t> attempt;
  // Of the container of the pod that was restarted most often.
  int32_t container_restarts = 0;

  bool succeeded() const { return phase == "Succeeded"; }
  // Neither ended nor being deleted.
  bool live() const { return !meta.deleting && !is_final_phase(phase); }
};

InPlacePodPtr read_in_place_pod(const nlohmann::json& object);

}  // namespace muster
