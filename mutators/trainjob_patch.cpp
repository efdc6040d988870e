#include "mutators/trainjob_patch.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "jobs/management.h"

namespace muster::mutators {
namespace {

using nlohmann::json;

std::optional<MutationError> mutate_one(const Review& review, json& object) {
  if (jobs::enabled_kind(review) == nullptr || !object.contains("spec") || !object["spec"].is_object())
    return std::nullopt;
  json& patches = object["spec"]["runtimePatches"];
  if (patches.is_null()) patches = json::array();
  if (!patches.is_array()) return std::nullopt;
  const bool there = std::any_of(patches.begin(), patches.end(), [](const json& patch) {
    return string_at(patch, {"manager"}) == kRuntimePatchManager;
  });
  if (!there)
    patches.push_back(
        {{"manager", kRuntimePatchManager}, {"trainingRuntimeSpec", {{"template", {{"spec", json::object()}}}}}});
  return std::nullopt;
}

}  // namespace

const Mutator trainjob_patch = {
    .name = "trainjob_patch",
    .matches = {{"trainer.kubeflow.org", "trainjobs"}},
    .operations = {Operation::kCreate},
    .mutate = mutate_one,
};

}  // namespace muster::mutators
