#include "reconcilers/jobset/jobset_indexes.h"

#include "api/jobset.h"
#include "api/meta/constants.h"
#include "api/pods/in_place_pod.h"

namespace muster::reconcilers {
namespace {

using state::NamespacedName;

std::optional<NamespacedName> jobset_of(const InPlacePod& pod) {
  const std::string_view name = pod.meta.label(kJobSetNameKey);
  if (name.empty()) return std::nullopt;
  return NamespacedName{pod.meta.ns, name};
}

std::optional<NamespacedName> subdomain_of(const JobSet& jobset) {
  return NamespacedName{jobset.meta.ns, jobset.subdomain};
}

}  // namespace

const state::Index<InPlacePod> kInPlacePodsByJobSet{.key = jobset_of};
const state::Index<JobSet> kJobSetsBySubdomain{.key = subdomain_of};

}  // namespace muster::reconcilers
