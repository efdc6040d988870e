#include "kube/observer.h"

namespace muster::kube {

std::string_view label_of(EventOutcome outcome) {
  switch (outcome) {
    case EventOutcome::kCreated:
      return "created";
    case EventOutcome::kPatched:
      return "patched";
    case EventOutcome::kCounted:
      return "counted";
    case EventOutcome::kRateLimited:
      return "rate_limited";
    case EventOutcome::kQueueFull:
      return "queue_full";
    case EventOutcome::kNamespaceGone:
      return "namespace_gone";
    case EventOutcome::kRefused:
      return "refused";
    case EventOutcome::kUnanswered:
      return "unanswered";
  }
  return "unanswered";
}

}  // namespace muster::kube
