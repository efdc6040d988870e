#include "commands/kubectl/local_reading.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "kinds/watched_kinds.h"

namespace muster::commands {
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

// Whether its labels are known: else its name is.
bool add_own_namespace(kube::KubeApi& api, const std::string& ns, std::vector<TypedObject>& objects) {
  const auto object = api.get(kube::resource_of(kNamespaces), "", ns);
  const json named = {{"metadata", {{"name", ns}, {"labels", {{"kubernetes.io/metadata.name", ns}}}}}};
  objects.push_back(read_object(kNamespaces, object ? *object : named));
  return object.ok();
}

std::string joined(const std::set<std::string_view>& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

}  // namespace

Outcome<> LocalReading::read(kube::KubeApi& api, const ResourceType& asked, const std::string& ns,
                             const std::function<bool(const ResourceType&)>& wanted, Now now) {
  ns_ = ns;
  for (const WatchedKind& kind : watched_kinds()) {
    const ResourceType& type = *kind.type;
    if (!wanted(type)) {
      engine_.apply(engine::KindListed{&type, {}, 0}, now);
      continue;
    }
    auto listed = list(api, kind, "");
    if (!listed && listed.error().forbidden() && type.namespaced) {
      partial_.insert(type.id());
      listed = list(api, kind, ns);
    }
    if (listed) {
      engine_.apply(engine::KindListed{&type, std::move(listed->objects), read_version(listed->version)}, now);
      continue;
    }
    const kube::StatusError& error = listed.error();
    // A kind that is not served has no objects.
    if (error.code != 404 && !error.forbidden())
      return fail(std::string(type.plural) + " cannot be listed: " + error.message);
    if (error.forbidden() && type == asked) return fail(error.message);
    std::vector<TypedObject> objects;
    if (error.forbidden()) {
      partial_.erase(type.id());
      const bool is_known = type == kNamespaces && add_own_namespace(api, ns, objects);
      (is_known ? partial_ : missing_).insert(type.id());
    }
    engine_.apply(engine::KindListed{&type, std::move(objects), 0}, now);
  }
  engine_.plan(now);
  return Done{};
}

std::vector<std::string> LocalReading::notes() const {
  std::vector<std::string> notes = {
      "Evaluated on this machine, from the objects that you can list; muster itself was not asked."};
  // Two watches of pods are one kind for a reader.
  std::set<std::string_view> names;
  for (const WatchedKind& kind : watched_kinds()) {
    if (missing_.contains(kind.type->id())) names.insert(kind.type->plural);
  }
  if (!names.empty()) notes.push_back("You cannot list " + joined(names) + ".");
  if (partial_.contains(kWorkloads.id())) notes.push_back("You can list Workloads of namespace " + ns_ + " only.");
  return notes;
}

}  // namespace muster::commands
