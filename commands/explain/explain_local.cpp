#include "commands/explain/explain_local.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/watched_kinds.h"
#include "api/workload_conditions.h"
#include "engine/engine.h"
#include "explain/explain.h"

namespace muster {
namespace {

using nlohmann::json;

struct Listed {
  std::vector<TypedObject> objects;
  std::string version;
};

Result<Listed, kube::StatusError> list(kube::KubeApi& api, const WatchedKind& kind, const std::string& ns) {
  const kube::Selection selection{.ns = ns,
                                  .label_selector = std::string(kind.label_selector),
                                  .field_selector = std::string(kind.field_selector),
                                  .metadata_only = kind.metadata_only};
  Listed listed;
  const kube::ListHandler handler{.started = [&] { listed.objects.clear(); },
                                  .item = [&](json& item) { listed.objects.push_back(read_object(*kind.type, item)); }};
  auto version = api.list(kube::resource_of(*kind.type), selection, handler);
  if (!version) return fail_with(version.error());
  listed.version = *version;
  return listed;
}

// The namespace as its owner may know it: by name.
TypedObject namespace_named(const std::string& name) {
  return read_object(kNamespaces,
                     {{"metadata", {{"name", name}, {"labels", {{"kubernetes.io/metadata.name", name}}}}}});
}

// Everything that muster watches, as far as this user may list it.
class Reading {
 public:
  Reading(kube::KubeApi& api, const ObjectKey& key) : api_(api), key_(key) {}

  Outcome<> read(Engine& engine, Now now) {
    for (const WatchedKind& kind : watched_kinds()) {
      if (auto done = read(kind, engine, now); !done) return done;
    }
    return Done{};
  }
  // Plurals of what could not be read at all, and of what only in the object's namespace.
  const std::set<std::string_view>& missing() const { return missing_; }
  const std::set<std::string_view>& partial() const { return partial_; }

 private:
  Outcome<> read(const WatchedKind& kind, Engine& engine, Now now) {
    const ResourceType& type = *kind.type;
    auto listed = list(api_, kind, "");
    if (!listed && listed.error().forbidden() && type.namespaced) {
      partial_.insert(type.plural);
      listed = list(api_, kind, key_.ns);
    }
    if (listed) {
      engine.apply(KindListed{&type, std::move(listed->objects), read_version(listed->version)}, now);
      return Done{};
    }
    const kube::StatusError& error = listed.error();
    // A kind that is not served has no objects.
    if (error.code != 404 && !error.forbidden())
      return fail(std::string(type.plural) + " cannot be listed: " + error.message);
    if (error.forbidden() && type.plural == key_.type->plural) return fail(error.message);
    if (error.forbidden()) {
      partial_.erase(type.plural);
      missing_.insert(type.plural);
    }
    if (error.forbidden() && type.plural == kNamespaces.plural)
      engine.apply(KindListed{&type, {own_namespace()}, 0}, now);
    else
      engine.apply(KindListed{&type, {}, 0}, now);
    return Done{};
  }

  TypedObject own_namespace() {
    auto object = api_.get(kube::resource_of(kNamespaces), "", key_.ns);
    if (object) return read_object(kNamespaces, *object);
    return namespace_named(key_.ns);
  }

  kube::KubeApi& api_;
  const ObjectKey& key_;
  std::set<std::string_view> missing_, partial_;
};

std::string join(const std::set<std::string_view>& names) {
  std::string text;
  for (std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

// Whether a reason rests on a kind that could not be read.
bool is_guess(const std::string& reason, const std::set<std::string_view>& missing) {
  struct Ground {
    const ResourceType* type;
    std::set<std::string_view> reasons;
  };
  static const Ground kGrounds[] = {
      {&kLocalQueues, {"LocalQueueMissing"}},
      {&kClusterQueues, {"ClusterQueueMissing"}},
      {&kResourceFlavors, {"ClusterQueueInactive", kNoMatchingFlavorReason}},
      {&kAdmissionChecks, {"ClusterQueueInactive"}},
      {&kCohorts, {kExceedsMaxQuotaReason}},
      {&kNamespaces, {"NamespaceNotAdmitted", "NamespaceNotSelected"}},
      {&kWorkloadPriorityClasses, {"PriorityClassMissing"}},
      {&kPriorityClasses, {"PriorityClassMissing"}},
      {&kWorkloads, {"WorkloadNotMade", "PrebuiltWorkloadMissing"}},
  };
  return std::any_of(std::begin(kGrounds), std::end(kGrounds), [&](const Ground& ground) {
    return missing.contains(ground.type->plural) && ground.reasons.contains(reason);
  });
}

void admit_ignorance(Explained& told) {
  told.say("Unknown", told.subject() + " is pending; you do not have permission to see why.");
  told.change = {
      "Ask muster itself, which needs permission to use its Service (docs/explain.md), or a person who can "
      "list the kinds that are named above."};
  told.because.clear();
  for (const ExplainedMoment& moment : told.timeline) {
    if (moment.what.starts_with("QuotaReserved=False"))
      told.because.push_back("Its Workload says: " + moment.what + ".");
  }
}

}  // namespace

Result<Explained> explain_locally(kube::KubeApi& api, const ObjectKey& key, const ReconcilerSettings& settings,
                                  const Clock& clock) {
  Engine engine({.keep_webhook_configurations = false, .reconcilers = settings});
  Reading reading(api, key);
  if (auto read = reading.read(engine, clock.now()); !read) return fail(read.error().message);
  engine.plan(clock.now());
  Explained told = explain(key, engine.state(), settings, false, clock.now());
  if (is_guess(told.reason, reading.missing())) admit_ignorance(told);
  told.notes = {"Evaluated on this machine, from the objects that you can list; muster itself was not asked."};
  if (!reading.missing().empty()) told.notes.push_back("You cannot list " + join(reading.missing()) + ".");
  if (reading.partial().contains(kWorkloads.plural))
    told.notes.push_back("You can list Workloads of namespace " + key.ns +
                         " only: more quota seems free, and fewer workloads ahead, than is true.");
  return told;
}

}  // namespace muster
