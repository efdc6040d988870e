#include "jobs/prebuilt_workload.h"

#include <nlohmann/json_fwd.hpp>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/field_error.h"

namespace muster::jobs {
namespace {

constexpr size_t kMaxLabelValue = 63;

PrebuiltWorkloadName found_in(std::string_view map, std::string_view name) {
  return {name, FieldPath("metadata").child(map).key(kPrebuiltWorkload)};
}

std::optional<PrebuiltWorkloadName> choose(const RuleSettings& settings, std::string_view annotated,
                                           std::optional<std::string_view> labelled) {
  const bool annotation_first = settings.enabled(Gate::kWorkloadIdentifierAnnotations);
  const bool label_wins = !annotation_first && !labelled.value_or("").empty();
  const bool annotation_counts = annotation_first ? !annotated.empty() : annotated.size() > kMaxLabelValue;
  if (annotation_counts && !label_wins) return found_in("annotations", annotated);
  if (labelled) return found_in("labels", *labelled);
  return std::nullopt;
}

}  // namespace

std::optional<PrebuiltWorkloadName> prebuilt_workload_name_of(const RuleSettings& settings,
                                                              const nlohmann::json& object) {
  return choose(settings, annotation(object, kPrebuiltWorkload).value_or(""), label(object, kPrebuiltWorkload));
}

std::optional<PrebuiltWorkloadName> prebuilt_workload_name_of(const RuleSettings& settings, const ObjectMeta& meta) {
  const auto labelled = meta.labels.find(kPrebuiltWorkload);
  return choose(settings, meta.annotation(kPrebuiltWorkload),
                labelled == meta.labels.end() ? std::nullopt : std::optional<std::string_view>(labelled->second));
}

}  // namespace muster::jobs
