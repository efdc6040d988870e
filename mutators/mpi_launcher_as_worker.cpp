#include "mutators/mpi_launcher_as_worker.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "jobs/edit.h"
#include "jobs/management.h"
#include "jobs/topology.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  const jobs::JobKind* kind = jobs::enabled_kind(review);
  if (!review.settings.enabled(Gate::kTopologyAwareScheduling)) return std::nullopt;
  if (kind == nullptr || !bool_at(object, {"spec", "runLauncherAsWorker"})) return std::nullopt;
  std::vector<jobs::PodTemplateRef> templates = kind->pod_templates(object);
  const auto find = [&](std::string_view name) {
    return std::find_if(templates.begin(), templates.end(),
                        [&](const jobs::PodTemplateRef& ref) { return ref.name == name; });
  };
  const auto launcher = find("launcher"), worker = find("worker");
  if (launcher == templates.end() || worker == templates.end()) return std::nullopt;
  if (annotation(*launcher->template_json, jobs::kPodSetGroupName)) return std::nullopt;
  if (json* annotations = jobs::make_object(*worker->template_json, {"metadata", "annotations"}))
    (*annotations)[std::string(jobs::kPodIndexOffset)] = "1";
  return std::nullopt;
}

}  // namespace

const Mutator mpi_launcher_as_worker = {
    .name = "mpi_launcher_as_worker",
    .matches = {{"kubeflow.org", "mpijobs"}},
    .operations = {Operation::kCreate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
