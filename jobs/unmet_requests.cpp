#include "jobs/unmet_requests.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/texts/unmet_requests.h"
#include "jobs/topology.h"

namespace muster::jobs {
namespace {

// The first that the template has; empty: none.
std::string_view topology_wish(const RuleSettings& settings, const nlohmann::json& pod_template) {
  if (!settings.enabled(Gate::kTopologyAwareScheduling)) return {};
  const bool with_layers = settings.enabled(Gate::kTASMultiLayerTopology);
  for (const std::string_view name : kTopologyAnnotations) {
    if ((name != kSliceLayers || with_layers) && annotation(pod_template, name)) return name;
  }
  return {};
}

}  // namespace

std::vector<UnmetRequest> unmet_requests_of(const RuleSettings& settings, const JobKind& kind,
                                            const nlohmann::json& object) {
  std::vector<UnmetRequest> found;
  for (const ConstPodTemplateRef& pod_template : kind.read_pod_templates(object)) {
    if (const std::string_view wish = topology_wish(settings, *pod_template.template_json); !wish.empty())
      found.push_back({annotations_path(pod_template).key(wish), kAsksForTopology});
    if (settings.enabled(Gate::kKueueDRARejectWorkloadsWhenDRADisabled) &&
        !array_at(*pod_template.template_json, {"spec", "resourceClaims"}).empty())
      found.push_back({pod_template.path.child("spec").child("resourceClaims").text(), kClaimsDevices});
  }
  return found;
}

}  // namespace muster::jobs
