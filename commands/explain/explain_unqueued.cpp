#include "commands/explain/explain_unqueued.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/owner_reference.h"

namespace muster {

using nlohmann::json;

Explained explain_unqueued(const UnqueuedKind& kind, const std::string& ns, const std::string& name, const json& object,
                           const std::string& why_not) {
  Explained told;
  told.kind = kind.kind;
  told.ns = ns;
  told.name = name;
  told.say("KindNotQueued", unqueued_sentence(kind.kind));
  if (!why_not.empty()) told.notes.push_back("The object could not be read: " + why_not + ".");
  if (const auto owner = object.is_object() ? controller_of(object) : std::nullopt) {
    told.because.push_back(told.subject() + " is part of " + owner->kind.text() + " " + ns + "/" + owner->name +
                           ", which made it.");
    told.change.push_back("Ask about that one: what queues it decides when its parts run.");
  } else if (object.is_object() && !asks_for_queue(object)) {
    told.because.push_back(told.subject() + " does not ask for a queue either.");
  }
  return told;
}

Explained ask_about_unqueued(kube::KubeApi& api, const UnqueuedKind& kind, const std::string& ns,
                             const std::string& name) {
  const kube::Resource resource{std::string(kind.group), std::string(kind.version), std::string(kind.resource), true,
                                std::string(kind.kind)};
  const auto object = api.get(resource, ns, name);
  if (object) return explain_unqueued(kind, ns, name, *object, "");
  Explained told = explain_unqueued(kind, ns, name, json(), object.error().message);
  told.found = object.error().code != 404;
  return told;
}

}  // namespace muster
