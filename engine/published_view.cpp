#include "engine/published_view.h"

#include "api/workload.h"
#include "kinds/kind_description.h"
#include "kinds/watched_kinds.h"

namespace muster::engine {
namespace {

// What rules can ask about: namespaces, queues, jobs of all kinds as possible owners, what those consult, and claims of
// JobSets. No StatefulSet: whoever makes a pod can say that one made it, and a part of a queued set would have no gate.
bool is_shown(const ResourceType& type) {
  if (find_described_kind(type.group, type.kind) != nullptr || find_consulted_kind(type.group, type.kind) != nullptr)
    return true;
  for (const ResourceType* shown : {&kNamespaces, &kLimitRanges, &kLocalQueues, &kClusterQueues, &kAdmissionChecks,
                                    &kWorkloadPriorityClasses, &kJobs, &kJobSets, &kPersistentVolumeClaims}) {
    if (type == *shown) return true;
  }
  return false;
}

}  // namespace

ClusterViewPtr PublishedView::publish() const {
  if (!published_) published_ = std::make_shared<const ClusterView>(view_);
  return published_;
}

void PublishedView::show(const TypedObject& object) {
  if (const auto* workload = std::get_if<WorkloadPtr>(&object)) {
    if (view_.note_workload(**workload, true)) published_ = nullptr;
  } else if (is_shown(type_of(object))) {
    view_.put_typed(object);
    published_ = nullptr;
  }
}

void PublishedView::remove(const TypedObject& removed, Now) {
  const ObjectMeta& meta = meta_of(removed);
  const ResourceType& type = type_of(removed);
  if (const auto* workload = std::get_if<WorkloadPtr>(&removed)) {
    if (view_.note_workload(**workload, false)) published_ = nullptr;
  } else if (is_shown(type)) {
    view_.remove(type.api_version, type.kind, meta.ns, meta.name);
    published_ = nullptr;
  }
}

void PublishedView::reset(Now) {
  view_ = ClusterView();
  published_ = nullptr;
}

}  // namespace muster::engine
