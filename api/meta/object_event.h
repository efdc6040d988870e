// Something worth telling a user about one object (`kubectl describe` shows it), as a
// value: reconcilers emit it, the engine hands it on, kube/events/event_recorder.h writes it
// down. Source: the Event kind of events.k8s.io/v1.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace muster {

struct ObjectReference {
  std::string api_version{};  // "batch/v1"
  std::string kind{};
  std::string ns{};  // empty: cluster-scoped
  std::string name{};
  std::string uid{};
  std::string resource_version{};

  auto operator<=>(const ObjectReference&) const = default;
};

inline constexpr std::string_view kNormalEvent = "Normal";
inline constexpr std::string_view kWarningEvent = "Warning";

struct ObjectEvent {
  ObjectReference regarding{};
  std::string type{kNormalEvent};  // or kWarningEvent
  std::string reason{};            // one word in CamelCase, at most 128 bytes: tools filter by it
  std::string action{};            // what muster did or tried, in the same form; empty: as the reason
  std::string note{};              // sentences for a person; cut at 1,024 bytes

  auto operator<=>(const ObjectEvent&) const = default;
};

}  // namespace muster
