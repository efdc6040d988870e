#include "api/review/admission_review.h"

#include <algorithm>
#include <limits>

#include "api/codec/json.h"
#include "api/codec/json_patch.h"
#include "api/codec/tree_memory.h"
#include "api/meta/resource_type.h"
#include "base/encoding.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
constexpr std::string_view kKind = "AdmissionReview";

Failure<ReviewError> bad_request(std::string message) {
  return fail_with(ReviewError{400, std::move(message)});
}

// Moves request.object or request.oldObject out of the request; null if it is missing.
Result<json, ReviewError> take_object(json& request, const char* key) {
  auto found = request.find(key);
  if (found == request.end() || found->is_null()) return json(nullptr);
  if (!found->is_object()) return bad_request(std::string("request.") + key + " must be an object");
  return std::move(*found);
}

Outcome<ReviewError> check_objects(const AdmissionRequest& request) {
  const bool wants_object = request.operation == Operation::kCreate || request.operation == Operation::kUpdate;
  const bool wants_old = request.operation == Operation::kUpdate || request.operation == Operation::kDelete;
  const std::string operation(to_text(request.operation));
  if (wants_object && request.object.is_null())
    return bad_request("request.object is missing; " + operation + " needs it");
  if (wants_old && request.old_object.is_null()) {
    return bad_request("request.oldObject is missing; " + operation + " needs it");
  }
  return Done{};
}

UserInfo user_of(const json& request) {
  UserInfo user{std::string(string_at(request, {"userInfo", "username"})), {}};
  for (const json& group : array_at(request, {"userInfo", "groups"})) {
    if (group.is_string()) user.groups.push_back(group.get<std::string>());
  }
  return user;
}

// Only a change of a job needs to know who set which field (mutators/keep_suspended.h). All other reviews are
// parsed without managedFields, which is half of most reviews.
bool needs_managed_fields(const json& review) {
  const json& request = object_at(review, {"request"});
  const std::string_view group = string_at(request, {"kind", "group"});
  const bool is_job = group == kJobs.group || group == kJobSets.group;
  return is_job && string_at(request, {"operation"}) == to_text(Operation::kUpdate);
}

// The same as a guess, from what the API server writes before the objects: an object can be large.
bool begins_as_change_of_job(std::string_view body) {
  constexpr size_t kLongestHeader = 4096;
  const std::string_view header = body.substr(0, std::min(body.find("\"object\":{"), kLongestHeader));
  const auto has = [&](std::string_view text) { return header.find(text) != std::string_view::npos; };
  const auto is_of = [&](std::string_view group) { return has("\"kind\":{\"group\":\"" + std::string(group) + "\""); };
  return has("\"operation\":\"UPDATE\"") && (is_of(kJobs.group) || is_of(kJobSets.group));
}

Result<json> read_review(std::string_view body, size_t tree_bytes) {
  if (begins_as_change_of_job(body)) {
    auto review = parse_json_within(body, tree_bytes);
    if (!review || needs_managed_fields(*review)) return review;
  }
  {
    auto review = parse_without_managed_fields_within(body, tree_bytes);
    if (!review || !needs_managed_fields(*review)) return review;
  }  // its memory is released before the second tree is built
  return parse_json_within(body, tree_bytes);
}

// The header of the review: everything but the objects.
Result<AdmissionRequest, ReviewError> decode_header(const json& request) {
  AdmissionRequest decoded;
  decoded.uid = string_at(request, {"uid"});
  if (decoded.uid.empty()) return bad_request("request.uid is missing or empty; it must be a string");
  auto operation = parse_operation(string_at(request, {"operation"}));
  if (!operation) return bad_request("request.operation: " + operation.error().message);
  decoded.operation = *operation;
  decoded.group = string_at(request, {"kind", "group"});
  decoded.version = string_at(request, {"kind", "version"});
  decoded.kind = string_at(request, {"kind", "kind"});
  if (decoded.kind.empty()) return bad_request("request.kind.kind is missing or empty; it must be a string");
  decoded.resource = string_at(request, {"resource", "resource"});
  decoded.sub_resource = string_at(request, {"subResource"});
  decoded.name = string_at(request, {"name"});
  decoded.namespace_ = string_at(request, {"namespace"});
  decoded.dry_run = bool_at(request, {"dryRun"});
  decoded.user = user_of(request);
  return decoded;
}

// The largest index up to `limit` at which a UTF-8 character begins.
size_t character_start(std::string_view text, size_t limit) {
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  return limit;
}

std::string join_errors(const FieldErrors& errors) {
  if (errors.size() == 1) return errors.front().text();
  std::string text = "[";
  for (const FieldError& error : errors) text += (text.size() > 1 ? ", " : "") + error.text();
  return text + "]";
}

}  // namespace

std::string_view to_text(Operation operation) {
  switch (operation) {
    case Operation::kCreate:
      return "CREATE";
    case Operation::kUpdate:
      return "UPDATE";
    case Operation::kDelete:
      return "DELETE";
    case Operation::kConnect:
      return "CONNECT";
  }
  return "CONNECT";
}

Result<Operation> parse_operation(std::string_view text) {
  for (Operation operation : {Operation::kCreate, Operation::kUpdate, Operation::kDelete, Operation::kConnect}) {
    if (text == to_text(operation)) return operation;
  }
  return fail("\"" + std::string(text) + "\" is not one of CREATE, UPDATE, DELETE, CONNECT");
}

Result<AdmissionRequest, ReviewError> decode_review(std::string_view body) {
  return decode_review_within(body, std::numeric_limits<size_t>::max());
}

Result<AdmissionRequest, ReviewError> decode_review_within(std::string_view body, size_t tree_bytes) {
  if (body.empty()) return bad_request("the body is empty; an AdmissionReview was expected");
  auto parsed = read_review(body, tree_bytes);
  if (!parsed) return bad_request("the body is not an AdmissionReview: " + parsed.error().message);
  json& review = *parsed;
  if (!review.is_object()) return bad_request("the body is not an AdmissionReview: it must be a JSON object");
  if (auto kind = string_at(review, {"kind"}); kind != kKind) {
    return bad_request("kind is \"" + std::string(kind) + "\"; it must be \"AdmissionReview\"");
  }
  if (auto version = string_at(review, {"apiVersion"}); version != kApiVersion) {
    return bad_request("apiVersion is \"" + std::string(version) + "\"; it must be \"admission.k8s.io/v1\"");
  }
  auto request = review.find("request");
  if (request == review.end() || !request->is_object()) return bad_request("request is missing; it must be an object");

  auto decoded = decode_header(*request);
  if (!decoded) return decoded;
  for (auto [key, target] : {std::pair{"object", &decoded->object}, std::pair{"oldObject", &decoded->old_object}}) {
    auto object = take_object(*request, key);
    if (!object) return fail_with(object.error());
    *target = std::move(*object);
  }
  if (auto objects = check_objects(*decoded); !objects) return fail_with(objects.error());
  return decoded;
}

AdmissionResponse::AdmissionResponse(const AdmissionRequest& request)
    : uid_(request.uid), group_(request.group), kind_(request.kind), name_(request.name), patch_(json::array()) {}

AdmissionResponse AdmissionResponse::allowed(const AdmissionRequest& request) {
  return AdmissionResponse(request);
}

AdmissionResponse AdmissionResponse::patched(const AdmissionRequest& request, const json& object) {
  AdmissionResponse response(request);
  response.patch_ = json_diff(request.object, object);
  return response;
}

AdmissionResponse AdmissionResponse::denied(const AdmissionRequest& request, const FieldErrors& errors) {
  return with_errors(request, 422, "Invalid", errors);
}

AdmissionResponse AdmissionResponse::forbidden(const AdmissionRequest& request, const FieldErrors& errors) {
  return with_errors(request, 403, "Forbidden", errors);
}

AdmissionResponse AdmissionResponse::with_errors(const AdmissionRequest& request, int code, std::string_view reason,
                                                 const FieldErrors& errors) {
  assert(!errors.empty());
  // A thousand errors have no reader, and the answer would be larger than the object.
  constexpr size_t kMostErrors = 500;
  if (errors.size() <= kMostErrors) {
    AdmissionResponse response = refused(request, code, reason, join_errors(errors));
    response.errors_ = errors;
    return response;
  }
  FieldErrors first(errors.begin(), errors.begin() + kMostErrors);
  const std::string rest = std::to_string(errors.size() - kMostErrors);
  AdmissionResponse response = refused(request, code, reason, join_errors(first) + " and " + rest + " more errors");
  response.errors_ = std::move(first);
  return response;
}

AdmissionResponse AdmissionResponse::refused(const AdmissionRequest& request, int code, std::string_view reason,
                                             std::string message) {
  AdmissionResponse response(request);
  response.allowed_ = false;
  response.code_ = code;
  response.reason_ = reason;
  response.message_ = std::move(message);
  return response;
}

AdmissionResponse& AdmissionResponse::with_warnings(std::vector<std::string> warnings) {
  constexpr size_t kMaxWarning = 256;
  for (std::string& warning : warnings) {
    if (warning.size() > kMaxWarning) warning.resize(character_start(warning, kMaxWarning));
    warnings_.push_back(std::move(warning));
  }
  return *this;
}

std::string AdmissionResponse::encode() const {
  json response = {{"uid", uid_}, {"allowed", allowed_}};
  if (!patch_.empty()) {
    response["patchType"] = "JSONPatch";
    response["patch"] = base64_encode(to_text(patch_));
  }
  if (!warnings_.empty()) response["warnings"] = warnings_;
  if (!allowed_) {
    json status = {{"status", "Failure"}, {"code", code_}, {"reason", reason_}, {"message", message_}};
    if (!errors_.empty()) {
      json& details = status["details"] = {{"group", group_}, {"kind", kind_}, {"name", name_}};
      for (const FieldError& error : errors_) {
        details["causes"].push_back(
            {{"reason", reason_of(error.type)}, {"message", error.message()}, {"field", error.field}});
      }
    }
    response["status"] = std::move(status);
  }
  return to_text(json{{"apiVersion", kApiVersion}, {"kind", kKind}, {"response", std::move(response)}});
}

}  // namespace muster
