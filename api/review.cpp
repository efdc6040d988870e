#include "api/review.h"

#include <algorithm>

#include "api/json.h"

namespace muster {

bool applies(std::span<const RuleMatch> matches, std::span<const Operation> operations,
             const AdmissionRequest& request) {
  if (!request.sub_resource.empty()) return false;
  if (std::find(operations.begin(), operations.end(), request.operation) == operations.end()) return false;
  return std::any_of(matches.begin(), matches.end(), [&](const RuleMatch& match) {
    return match.group == request.group && match.resource == request.resource;
  });
}

bool being_deleted(const AdmissionRequest& request) {
  return request.operation == Operation::kUpdate &&
         !string_at(request.object, {"metadata", "deletionTimestamp"}).empty();
}

}  // namespace muster
