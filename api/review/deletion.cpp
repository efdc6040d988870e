#include "api/review/deletion.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "api/codec/json.h"
#include "api/review/review.h"
#include "kinds/unqueued_kinds.h"

namespace muster {
namespace {

using nlohmann::json;

json member_of(const json& object, const char* field) {
  const json* member = find_path(object, {"metadata", field});
  return member == nullptr ? json() : *member;
}

json own_annotations_of(const json& object) {
  json annotations = json::object();
  for (const auto& [key, value] : object_at(object, {"metadata", "annotations"}).items()) {
    if (key.starts_with(kKueueKeyPrefix) || key.starts_with(kMusterKeyPrefix)) annotations[key] = value;
  }
  return annotations;
}

// All but the metadata and, where it is not written, the status.
std::map<std::string_view, const json*> members_of(const json& object, const AdmissionRequest& request) {
  std::map<std::string_view, const json*> members;
  if (!object.is_object()) return members;
  for (auto it = object.begin(); it != object.end(); ++it) {
    if (it.key() != "metadata" && (it.key() != "status" || request.sub_resource == "status"))
      members.emplace(it.key(), &*it);
  }
  return members;
}

bool same_content(const AdmissionRequest& request) {
  const auto before = members_of(request.old_object, request), after = members_of(request.object, request);
  return std::equal(before.begin(), before.end(), after.begin(), after.end(), [](const auto& one, const auto& other) {
    return one.first == other.first && *one.second == *other.second;
  });
}

}  // namespace

bool is_step_of_deletion(const AdmissionRequest& request) {
  if (!being_deleted(request)) return false;
  for (const char* field : {"labels", "ownerReferences"}) {
    if (member_of(request.object, field) != member_of(request.old_object, field)) return false;
  }
  return own_annotations_of(request.object) == own_annotations_of(request.old_object) && same_content(request);
}

}  // namespace muster
