#include "api/review/review.h"

#include <algorithm>

#include "api/codec/json.h"
#include "kinds/kind_description.h"

namespace muster {
namespace {

// "workloads/status" is the subresource only, "workloads" the resource itself only.
bool names_resource(std::string_view wanted, const AdmissionRequest& request) {
  if (!wanted.starts_with(request.resource)) return false;
  wanted.remove_prefix(request.resource.size());
  if (request.sub_resource.empty()) return wanted.empty();
  return wanted.starts_with('/') && wanted.substr(1) == request.sub_resource;
}

}  // namespace

bool applies(std::span<const RuleMatch> matches, std::span<const Operation> operations,
             const AdmissionRequest& request) {
  if (std::find(operations.begin(), operations.end(), request.operation) == operations.end()) return false;
  return std::any_of(matches.begin(), matches.end(), [&](const RuleMatch& match) {
    if (match == kQueuedJobs) return request.sub_resource.empty() && is_queued_type(request.group, request.resource);
    return match.group == request.group && names_resource(match.resource, request);
  });
}

std::vector<RuleMatch> expand(const RuleMatch& match) {
  if (match != kQueuedJobs) return {match};
  std::vector<RuleMatch> matches;
  for (const ResourceType* type : queued_types()) matches.push_back({type->group, type->plural});
  return matches;
}

bool being_deleted(const AdmissionRequest& request) {
  return request.operation == Operation::kUpdate &&
         !string_at(request.object, {"metadata", "deletionTimestamp"}).empty();
}

}  // namespace muster
