#include "test/support/object_server.h"

#include <algorithm>
#include <map>

#include "api/codec/json.h"
#include "api/meta/time.h"
#include "test/world/object_rules.h"

namespace muster::test {
namespace {

json without_metadata_and_status(json object) {
  object.erase("metadata");
  object.erase("status");
  return object;
}

bool holds_list(const json& value) {
  return value.is_array() || (value.is_object() && std::any_of(value.begin(), value.end(),
                                                               [](const json& item) { return holds_list(item); }));
}

}  // namespace

ObjectServer::ObjectServer(world::ApiServerOptions options)
    : timeline_(std::make_unique<world::Timeline>(TimePoint(std::chrono::seconds(1'767'268'800)))),
      server_(std::make_unique<world::ApiServer>(*timeline_, options)) {
  store(kNamespaces, {{"metadata", {{"name", kNs}}}});
}
ObjectServer::~ObjectServer() = default;
ObjectServer::ObjectServer(ObjectServer&&) noexcept = default;

std::string ObjectServer::stamp(Duration from_now) const {
  return format_rfc3339(to_timestamp(now().wall + from_now));
}

ObjectKey ObjectServer::key(const ResourceType& type, const std::string& name) {
  return {&type, type.namespaced ? kNs : "", name};
}

json ObjectServer::get(const ResourceType& type, const std::string& name) const {
  const world::ObjectPtr object = server_->get(key(type, name));
  return object == nullptr ? json() : *object;
}

json ObjectServer::status(const ResourceType& type, const std::string& name) const {
  return get(type, name).value("status", json::object());
}

std::string ObjectServer::condition_of(const ResourceType& type, const std::string& name, const std::string& of) const {
  const json object = get(type, name);
  for (const json& condition : array_at(object, {"status", "conditions"})) {
    if (condition["type"] == of)
      return condition["status"].get<std::string>() + " " + condition["reason"].get<std::string>();
  }
  return "";
}

json ObjectServer::list(const ResourceType& type) const {
  json all = json::array();
  for (const world::ObjectPtr& object : server_->list(type)) {
    if (!type.namespaced || string_at(*object, {"metadata", "namespace"}) == kNs) all.push_back(*object);
  }
  return all;
}

Texts ObjectServer::names(const ResourceType& type) const {
  Texts names;
  for (const json& object : list(type)) names.push_back(object["metadata"]["name"]);
  return names;
}

world::ObjectPtr ObjectServer::store(const ResourceType& type, json object) {
  json& metadata = object["metadata"];
  object["apiVersion"] = type.api_version;
  object["kind"] = type.kind;
  if (type.namespaced && !metadata.contains("namespace")) metadata["namespace"] = kNs;
  if (!metadata.contains("uid")) metadata["uid"] = metadata["name"].get<std::string>() + "-uid";
  if (!metadata.contains("creationTimestamp")) metadata["creationTimestamp"] = stamp();
  const world::ObjectPtr before = server_->get(world::key_of(type, object));
  const json known = before == nullptr ? json() : (*before)["metadata"].value("generation", json(0));
  if (world::has_generation(type) && (!metadata.contains("generation") || metadata["generation"] == known)) {
    const bool same = before != nullptr && without_metadata_and_status(*before) == without_metadata_and_status(object);
    metadata["generation"] = before == nullptr ? json(1) : json(known.get<int64_t>() + (same ? 0 : 1));
  }
  return server_->store(type, std::move(object));
}

void ObjectServer::put(const ResourceType& type, json object) {
  shown(type, *store(type, std::move(object)));
}

void ObjectServer::put(const ResourceType& type, const std::string& name, json object) {
  object["metadata"]["name"] = name;
  put(type, std::move(object));
}

void ObjectServer::put_unseen(const ResourceType& type, json object) {
  store(type, std::move(object));
}

void ObjectServer::edit(const ResourceType& type, const std::string& name, const Edit& edit) {
  json object = get(type, name);
  REQUIRE_MESSAGE(object.is_object(), to_text(key(type, name)));
  edit(object);
  put(type, std::move(object));
}

void ObjectServer::patch(const ResourceType& type, const std::string& name, const json& merge_patch) {
  edit(type, name, [&](json& object) { object.merge_patch(merge_patch); });
}

void ObjectServer::remove(const ResourceType& type, const std::string& name) {
  json last = get(type, name);
  const world::Answer answer = server_->remove(key(type, name));
  REQUIRE_MESSAGE(answer.done(), answer.message);
  if (answer.object != nullptr && !get(type, name).is_null()) return shown(type, *answer.object);
  last["metadata"]["resourceVersion"] = std::to_string(server_->version());
  gone(type, last);
}

void ObjectServer::vanish(const ResourceType& type, const std::string& name) {
  const world::ObjectPtr last = server_->erase(key(type, name));
  REQUIRE_MESSAGE(last != nullptr, to_text(key(type, name)));
  gone(type, *last);
}

world::Answer ObjectServer::carry_out(const reconcilers::Write& write) {
  const std::string what = text(write);
  INFO(what);
  check_form(write);
  const uint64_t version = server_->version();
  const world::Answer answer = server_->carry_out(write);
  const bool asks = write.verb == reconcilers::Verb::kFindPods;
  CHECK_MESSAGE((asks || !answer.done() || server_->version() != version), "a write that changes nothing: ", what);
  return answer;
}

// What makes a write of muster's safe to repeat and to come late.
void ObjectServer::check_form(const reconcilers::Write& write) const {
  if (write.verb == reconcilers::Verb::kDelete) CHECK_FALSE(write.uid.empty());
  if (write.verb != reconcilers::Verb::kPatch && write.verb != reconcilers::Verb::kPatchStatus) return;
  // A pod's annotations are written with its status.
  if (*write.target.type != kPods)
    CHECK(write.body.contains("status") == (write.verb == reconcilers::Verb::kPatchStatus));
  if (patched_unversioned == write.target.type && !holds_list(write.body)) return;
  CHECK_FALSE(string_at(write.body, {"metadata", "resourceVersion"}).empty());
}

std::string ObjectServer::text(const reconcilers::Write& write) {
  static const std::map<reconcilers::Verb, std::string> kVerbs = {{reconcilers::Verb::kCreate, "create"},
                                                                  {reconcilers::Verb::kPatch, "patch"},
                                                                  {reconcilers::Verb::kPatchStatus, "status"},
                                                                  {reconcilers::Verb::kDelete, "delete"},
                                                                  {reconcilers::Verb::kFindPods, "find"}};
  return kVerbs.at(write.verb) + " " + std::string(write.target.type->plural) + "/" + write.target.name;
}

Texts ObjectServer::texts(const reconcilers::Plan& plan) {
  Texts texts;
  for (const reconcilers::Write& write : plan.writes) texts.push_back(text(write));
  return texts;
}

}  // namespace muster::test
