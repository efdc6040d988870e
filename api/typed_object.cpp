#include "api/typed_object.h"

#include <nlohmann/json.hpp>
#include <tuple>

#include "base/overloaded.h"

namespace muster {
TypedObject read_object(const ResourceType& type, const nlohmann::json& object) {
  if (type.kind == kJobs.kind) return read_job(object);
  if (type.kind == kJobSets.kind) return read_jobset(object);
  if (type.kind == kPods.kind) return read_pod(object);
  if (type.kind == kConfigMaps.kind) return read_config_map(object);
  if (type.kind == kServices.kind) return read_service(object);
  return PlainObject{&type, read_meta(object), std::make_shared<const nlohmann::json>(object)};
}

const ResourceType& type_of(const TypedObject& object) {
  return std::visit(Overloaded{
                        [](const JobPtr&) -> const ResourceType& { return kJobs; },
                        [](const JobSetPtr&) -> const ResourceType& { return kJobSets; },
                        [](const PodPtr&) -> const ResourceType& { return kPods; },
                        [](const ConfigMapPtr&) -> const ResourceType& { return kConfigMaps; },
                        [](const ServicePtr&) -> const ResourceType& { return kServices; },
                        [](const PlainObject& plain) -> const ResourceType& { return *plain.type; },
                    },
                    object);
}

const ObjectMeta& meta_of(const TypedObject& object) {
  return std::visit(Overloaded{
                        [](const PlainObject& plain) -> const ObjectMeta& { return plain.meta; },
                        [](const auto& pointer) -> const ObjectMeta& { return pointer->meta; },
                    },
                    object);
}

bool ObjectKey::operator<(const ObjectKey& other) const {
  return std::tie(type->plural, ns, name) < std::tie(other.type->plural, other.ns, other.name);
}

ObjectKey key_of(const TypedObject& object) {
  const ObjectMeta& meta = meta_of(object);
  return {&type_of(object), meta.ns, meta.name};
}

nlohmann::json controller_reference(const ResourceType& type, const ObjectMeta& meta, bool block_owner_deletion) {
  return {{"apiVersion", type.api_version},
          {"kind", type.kind},
          {"name", meta.name},
          {"uid", meta.uid},
          {"controller", true},
          {"blockOwnerDeletion", block_owner_deletion}};
}

ObjectReference reference_to(const ResourceType& type, const ObjectMeta& meta) {
  return {.api_version = std::string(type.api_version),
          .kind = std::string(type.kind),
          .ns = meta.ns,
          .name = meta.name,
          .uid = meta.uid};
}

std::string to_text(const ObjectKey& key) {
  std::string text(key.type->plural);
  text += '/';
  if (!key.ns.empty()) text += key.ns + "/";
  return text + key.name;
}

}  // namespace muster
