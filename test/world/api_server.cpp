#include "test/world/api_server.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/meta/time.h"
#include "jobs/job_kind.h"
#include "kinds/kind_description.h"
#include "reconcilers/pod_search.h"
#include "test/world/object_rules.h"

namespace muster::world {
namespace {

using nlohmann::json;

constexpr const ResourceType* kTypes[] = {
    &kNamespaces,
    &kLimitRanges,
    &kPods,
    &kConfigMaps,
    &kServices,
    &kPersistentVolumeClaims,
    &kJobs,
    &kJobSets,
    &kWorkloads,
    &kLocalQueues,
    &kClusterQueues,
    &kCohorts,
    &kResourceFlavors,
    &kAdmissionChecks,
    &kWorkloadPriorityClasses,
    &kPriorityClasses,
    &kRuntimeClasses,
    &kCustomResourceDefinitions,
    &kMutatingWebhookConfigurations,
    &kValidatingWebhookConfigurations,
};

Answer refused(std::string message) {
  return {reconcilers::WriteOutcome::kRefused, nullptr, std::move(message)};
}

Answer not_found(const ObjectKey& key) {
  return {reconcilers::WriteOutcome::kNotFound, nullptr, to_text(key) + " not found"};
}

bool has_finalizers(const json& object) {
  return !array_at(object, {"metadata", "finalizers"}).empty();
}

// Deleted in every respect: no finalizer and no grace period is left.
bool is_spent(const json& object) {
  return is_deleting(object) && !has_finalizers(object) &&
         int_at(object, {"metadata", "deletionGracePeriodSeconds"}).value_or(0) == 0;
}

// merge_patch leaves empty metadata maps behind, which Kubernetes does not store.
void drop_empty_metadata(json& object) {
  for (const char* key : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    json& metadata = object["metadata"];
    if (metadata.contains(key) && (metadata[key].is_null() || metadata[key].empty())) metadata.erase(key);
  }
}

// One resource, whatever watch it was seen by.
const ResourceType& stored_type(const ResourceType& type) {
  return stored_id(type) == kPods.id() ? kPods : type;
}

// Whether anything but metadata and status differs.
bool spec_differs(json before, json after) {
  for (json* object : {&before, &after}) {
    object->erase("metadata");
    object->erase("status");
  }
  return before != after;
}

}  // namespace

const ResourceType* find_type(const json& manifest) {
  const std::string_view api_version = string_at(manifest, {"apiVersion"}), kind = string_at(manifest, {"kind"});
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const ResourceType* type) {
    return type->api_version == api_version && type->kind == kind;
  });
  if (found != std::end(kTypes)) return *found;
  const ResourceType* consulted = find_consulted_kind(group_of(api_version), kind);
  if (consulted != nullptr && consulted->api_version == api_version) return consulted;
  const jobs::JobKind* job = jobs::find_job_kind(group_of(api_version), kind);
  return job == nullptr || job->type.api_version != api_version ? nullptr : &job->type;
}

ApiServer::ApiServer(Timeline& timeline, ApiServerOptions options)
    : timeline_(timeline), options_(options), chance_(options.seed, "api server"), storage_(options.history) {}

void ApiServer::serve(const ResourceType& type, bool served) {
  if (served)
    unserved_.erase(stored_id(type));
  else
    unserved_.insert(stored_id(type));
}

std::string ApiServer::stamp() const {
  return format_rfc3339(to_timestamp(timeline_.now().wall));
}

std::string ApiServer::new_uid() {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string uid = "xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx";
  for (char& letter : uid) {
    if (letter == 'x') letter = kDigits[chance_.number() % kDigits.size()];
  }
  return uid;
}

std::string ApiServer::new_name(const ResourceType& type, const json& object) {
  static constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";
  ObjectKey key = key_of(type, object);
  do {
    key.name = string_at(object, {"metadata", "generateName"});
    for (int i = 0; i < 5; ++i) key.name += kAlphabet[chance_.number() % kAlphabet.size()];
  } while (get(key) != nullptr);
  return key.name;
}

std::optional<Answer> ApiServer::refuse_create(const ResourceType& type, const json& object) const {
  const ObjectKey key = key_of(type, object);
  if (!serves(type)) return not_found(key);
  if (key.name.empty() && string_at(object, {"metadata", "generateName"}).empty())
    return refused("metadata.name: Required value: name or generateName is required");
  if (!string_at(object, {"metadata", "resourceVersion"}).empty())
    return refused("resourceVersion should not be set on objects to be created");
  if (type.namespaced == key.ns.empty()) return refused("metadata.namespace: does not fit the kind's scope");
  if (!type.namespaced) return std::nullopt;
  const ObjectKey ns{&kNamespaces, "", key.ns};
  const ObjectPtr found = get(ns);
  if (found == nullptr) return not_found(ns);
  if (is_deleting(*found))
    return refused("unable to create new content in namespace " + key.ns + ": it is terminating");
  return std::nullopt;
}

std::optional<Answer> ApiServer::admit(Operation operation, const ResourceType& type, const Request& request,
                                       json* object, const json& old_object, bool mutating) {
  if (admission_ == nullptr || !admission_->concerns(type, operation)) return std::nullopt;
  AdmissionRequest asked;
  asked.uid = "admission-" + std::to_string(++admission_requests_);
  asked.group = type.group;
  asked.version = type.version;
  asked.kind = type.kind;
  asked.resource = type.plural;
  const json& subject = object == nullptr ? old_object : *object;
  asked.name = string_at(subject, {"metadata", "name"});
  asked.namespace_ = string_at(subject, {"metadata", "namespace"});
  asked.operation = operation;
  asked.user.username = request.user;
  asked.dry_run = request.dry_run;
  if (object != nullptr) asked.object = *object;
  asked.old_object = old_object;
  const std::optional<Refusal> no = mutating ? admission_->mutate(asked, *object) : admission_->validate(asked);
  if (!no) return std::nullopt;
  return Answer{no->outcome, nullptr, no->message};
}

Answer ApiServer::create(json object, const Request& request) {
  const ResourceType* type = find_type(object);
  if (type == nullptr) return refused("no matches for kind " + std::string(string_at(object, {"kind"})));
  if (std::optional<Answer> no = refuse_create(*type, object)) return *no;
  set_defaults(*type, object);
  if (auto no = admit(Operation::kCreate, *type, request, &object, nullptr, true)) return *no;
  json& metadata = object["metadata"];
  if (string_at(metadata, {"name"}).empty()) metadata["name"] = new_name(*type, object);
  metadata["uid"] = new_uid();
  metadata["creationTimestamp"] = stamp();
  for (const char* key : {"deletionTimestamp", "deletionGracePeriodSeconds", "generation"}) metadata.erase(key);
  if (has_generation(*type)) metadata["generation"] = 1;
  drop_empty_metadata(object);
  prepare_for_create(*type, object);
  if (auto why = options_.validates ? check_new(*type, object) : std::nullopt) return refused(*why);
  if (auto no = admit(Operation::kCreate, *type, request, &object, nullptr, false)) return *no;
  const ObjectKey key = key_of(*type, object);
  if (get(key) != nullptr)
    return {reconcilers::WriteOutcome::kAlreadyExists, nullptr, to_text(key) + " already exists"};
  if (request.dry_run) return {reconcilers::WriteOutcome::kDone, std::make_shared<const json>(std::move(object)), ""};
  return commit(*type, std::move(object), nullptr);
}

Answer ApiServer::patch(const ObjectKey& key, const json& patch, const Request& request) {
  return update(key, patch, false, request);
}

Answer ApiServer::patch_status(const ObjectKey& key, const json& patch, const Request& request) {
  if (!has_status_subresource(*key.type)) return refused(to_text(key) + " has no status subresource");
  return update(key, patch, true, request);
}

std::optional<std::string> ApiServer::refuse_change(const ResourceType& type, const json& before, const json& after,
                                                    bool status) const {
  if (!options_.validates) return std::nullopt;
  return status ? check_status_change(type, before, after)
                : check_change(type, before, after, options_.resumed_jobs_may_change);
}

Answer ApiServer::update(const ObjectKey& key, const json& patch, bool status, const Request& request) {
  const ObjectPtr before = get(key);
  if (before == nullptr) return not_found(key);
  const json& old_metadata = (*before)["metadata"];
  for (const char* field : {"resourceVersion", "uid"}) {
    const std::string_view wanted = string_at(patch, {"metadata", field});
    if (!wanted.empty() && wanted != string_at(old_metadata, {field}))
      return {reconcilers::WriteOutcome::kConflict, nullptr,
              to_text(key) + " has been modified: metadata." + field + " differs"};
  }
  json after = *before;
  after.merge_patch(patch);
  if (status) {
    json changed = *before;
    changed["status"] = after.contains("status") ? std::move(after["status"]) : json::object();
    // registry/core/pod/strategy.go keeps what a status update says of labels and annotations.
    if (*key.type == kPods) {
      for (const char* field : {"labels", "annotations"}) {
        changed["metadata"].erase(field);
        if (const json* said = find_path(after, {"metadata", field})) changed["metadata"][field] = *said;
      }
    }
    after = std::move(changed);
  } else if (has_status_subresource(*key.type)) {
    after.erase("status");
    if (before->contains("status")) after["status"] = (*before)["status"];
  }
  for (const char* field : {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
                            "deletionTimestamp", "deletionGracePeriodSeconds"}) {
    after["metadata"].erase(field);
    if (old_metadata.contains(field)) after["metadata"][field] = old_metadata[field];
  }
  drop_empty_metadata(after);
  if (!status) {
    if (auto no = admit(Operation::kUpdate, *key.type, request, &after, *before, true)) return *no;
  }
  if (after == *before) return {reconcilers::WriteOutcome::kDone, before, ""};
  if (spec_differs(*before, after) && has_generation(*key.type))
    after["metadata"]["generation"] = int_at(old_metadata, {"generation"}).value_or(0) + 1;
  if (auto why = refuse_change(*key.type, *before, after, status)) return refused(*why);
  if (!status) {
    if (auto no = admit(Operation::kUpdate, *key.type, request, &after, *before, false)) return *no;
  }
  if (request.dry_run) return {reconcilers::WriteOutcome::kDone, std::make_shared<const json>(std::move(after)), ""};
  return commit(*key.type, std::move(after), before);
}

Answer ApiServer::remove(const ObjectKey& asked, const Deletion& deletion, const Request& request) {
  const ObjectKey key{&stored_type(*asked.type), asked.ns, asked.name};
  const ObjectPtr before = get(key);
  if (before == nullptr) return not_found(key);
  const std::string_view uid = string_at(*before, {"metadata", "uid"});
  if (!deletion.uid.empty() && deletion.uid != uid)
    return {reconcilers::WriteOutcome::kConflict, nullptr,
            to_text(key) + ": the UID in the precondition is not the object's"};
  if (!deletion.version.empty() && deletion.version != string_at(*before, {"metadata", "resourceVersion"}))
    return {reconcilers::WriteOutcome::kConflict, nullptr,
            to_text(key) + ": the version in the precondition is not the object's"};
  if (auto no = admit(Operation::kDelete, *key.type, request, nullptr, *before, false)) return *no;
  if (request.dry_run) return {reconcilers::WriteOutcome::kDone, before, ""};

  json after = *before;
  json& metadata = after["metadata"];
  const bool is_first = !is_deleting(*before);
  if (is_first) metadata["deletionTimestamp"] = stamp();
  const bool foreground = deletion.propagation == reconcilers::Propagation::kForeground;
  json finalizers = metadata.contains("finalizers") ? metadata["finalizers"] : json::array();
  if (foreground && std::find(finalizers.begin(), finalizers.end(), "foregroundDeletion") == finalizers.end())
    finalizers.push_back("foregroundDeletion");
  if (deletion.orphan) finalizers.push_back("orphan");
  if (*key.type == kNamespaces && !is_deleting(*before)) finalizers.push_back("kubernetes");
  if (!finalizers.empty()) metadata["finalizers"] = finalizers;
  if (*key.type == kPods) {
    const std::string_view phase = string_at(*before, {"status", "phase"});
    const bool on_node = !string_at(*before, {"spec", "nodeName"}).empty() && phase != "Succeeded" && phase != "Failed";
    if (on_node && !deletion.now && is_first) {
      const auto grace = int_at(*before, {"spec", "terminationGracePeriodSeconds"});
      metadata["deletionGracePeriodSeconds"] = grace.value_or(30);
      // As the API server does it, which otherwise makes no difference here.
      if (grace)
        metadata["deletionTimestamp"] = time_to_json(to_timestamp(timeline_.now().wall + std::chrono::seconds(*grace)));
    }
    if (!on_node || deletion.now) metadata["deletionGracePeriodSeconds"] = 0;
  }
  if (after == *before) return {reconcilers::WriteOutcome::kDone, before, ""};
  Answer answer = commit(*key.type, std::move(after), before);
  if (*key.type == kNamespaces) empty_namespace(key.name);
  return answer;
}

Answer ApiServer::find_pods(const reconcilers::Write& search) const {
  const Selection selection{.labels = reconcilers::label_selector_of(search),
                            .fields = std::string(reconcilers::kPodsThatRun)};
  for (const ObjectPtr& pod : list(kPods, selection)) {
    if (string_at(*pod, {"metadata", "namespace"}) == search.target.ns && reconcilers::is_left(search, *pod)) return {};
  }
  return {reconcilers::WriteOutcome::kNotFound, nullptr, "no pod is left"};
}

Answer ApiServer::carry_out(const reconcilers::Write& asked, const Request& request) {
  reconcilers::Write write = asked;
  write.target.type = &stored_type(*write.target.type);
  switch (write.verb) {
    case reconcilers::Verb::kCreate:
      return create(write.body, request);
    case reconcilers::Verb::kPatch:
      return patch(write.target, write.body, request);
    case reconcilers::Verb::kPatchStatus:
      return patch_status(write.target, write.body, request);
    case reconcilers::Verb::kDelete:
      return remove(write.target,
                    {.uid = write.uid,
                     .version = std::string(string_at(write.body, {"metadata", "resourceVersion"})),
                     .propagation = write.propagation},
                    request);
    case reconcilers::Verb::kFindPods:
      return find_pods(write);
  }
  return refused("no such verb");
}

void ApiServer::empty_namespace(const std::string& name) {
  std::vector<ObjectKey> inside;
  for (const ResourceType* type : kTypes) {
    if (!type->namespaced) continue;
    for (const ObjectPtr& object : storage_.list(*type, {})) {
      if (string_at(*object, {"metadata", "namespace"}) == name) inside.push_back(key_of(*type, *object));
    }
  }
  const ObjectKey key{&kNamespaces, "", name};
  if (inside.empty()) {
    patch(key, {{"metadata", {{"finalizers", nullptr}}}});
    return;
  }
  for (const ObjectKey& object : inside) remove(object);
  timeline_.after(std::chrono::seconds(1), [this, name] { empty_namespace(name); });
}

Answer ApiServer::commit(const ResourceType& type, json object, const ObjectPtr& before) {
  // One write can be the last thing that was waited for.
  if (before != nullptr && is_spent(object)) {
    storage_.erase(type, std::move(object));
    return {reconcilers::WriteOutcome::kDone, nullptr, ""};
  }
  return {reconcilers::WriteOutcome::kDone, storage_.put(type, std::move(object), before), ""};
}

ObjectPtr ApiServer::store(const ResourceType& type, json object) {
  const ObjectPtr before = storage_.get(key_of(type, object));
  return storage_.put(stored_type(type), std::move(object), before);
}

ObjectPtr ApiServer::erase(const ObjectKey& key) {
  const ObjectPtr last = storage_.get(key);
  return last == nullptr ? nullptr : storage_.erase(stored_type(*key.type), *last);
}

ObjectPtr ApiServer::get(const ObjectKey& key) const {
  return serves(*key.type) ? storage_.get(key) : nullptr;
}

std::vector<ObjectPtr> ApiServer::list(const ResourceType& type, const Selection& selection) const {
  return serves(type) ? storage_.list(type, selection) : std::vector<ObjectPtr>();
}

}  // namespace muster::world
