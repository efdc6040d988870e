// The node labels and tolerations of the flavors of an admission. If two flavors set a node label, the resource first
// by name wins.
#include <set>

#include "api/cluster_queue.h"
#include "api/workload.h"
#include "kinds/pod_set_info.h"
#include "reconcilers/start/start_contribution.h"
#include "state/cluster_state.h"

namespace muster::reconcilers {
namespace {

Outcome<NoStart> add_flavors(const StartContext& context, const PodSetAssignment& assignment, PodSetInfo& info) {
  std::set<std::string_view> done;
  for (const auto& [resource, name] : assignment.flavors) {
    if (!done.insert(name).second) continue;
    const ResourceFlavor* flavor = context.state.find<ResourceFlavor>(name);
    if (flavor == nullptr)
      return fail_with(NoStart{.message = "ResourceFlavor " + name + " does not exist", .retry = true});
    info.node_selector.insert(flavor->node_labels.begin(), flavor->node_labels.end());
    info.tolerations.insert(info.tolerations.end(), flavor->tolerations.begin(), flavor->tolerations.end());
  }
  return Done{};
}

}  // namespace

extern const StartContribution flavors_contribution{.name = "flavors", .add = &add_flavors};

}  // namespace muster::reconcilers
