// What the API server asks webhooks about an object.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

#include "api/meta/resource_type.h"
#include "api/review/admission_review.h"

namespace muster::test {

// Of the user "alice" in the namespace "team-a". With an old object: an update.
inline AdmissionRequest request_for(const ResourceType& type, nlohmann::json object,
                                    nlohmann::json old_object = nullptr) {
  AdmissionRequest request;
  request.uid = "705ab4f5-6393-11e8-b7cc-42010a800002";
  request.group = type.group;
  request.version = type.version;
  request.kind = type.kind;
  request.resource = type.plural;
  request.namespace_ = "team-a";
  request.user.username = "alice";
  request.operation = old_object.is_null() ? Operation::kCreate : Operation::kUpdate;
  request.object = std::move(object);
  request.old_object = std::move(old_object);
  return request;
}

// Of a Job or a JobSet.
inline AdmissionRequest request_for(const nlohmann::json& object, const nlohmann::json& old_object = nullptr) {
  return request_for(object.at("kind") == "Job" ? kJobs : kJobSets, object, old_object);
}

}  // namespace muster::test
