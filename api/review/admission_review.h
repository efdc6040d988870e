// admission.k8s.io/v1 AdmissionReview: what the API server asks and is answered.
//
// A response is made from its request and in no other way, so that its uid cannot
// be wrong; a body without a readable uid gets a plain HTTP 400 (docs/life-of-a-review.md).
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "base/result.h"

namespace muster {

enum class Operation { kCreate, kUpdate, kDelete, kConnect };
std::string_view to_text(Operation operation);
Result<Operation> parse_operation(std::string_view text);

struct UserInfo {
  std::string username;
  std::vector<std::string> groups;
};

// A decoded request. `object` is null on DELETE, `old_object` on CREATE.
struct AdmissionRequest {
  std::string uid;
  std::string group, version, kind;    // of the object as sent: request.kind
  std::string resource, sub_resource;  // "jobs", "" or "status"
  std::string name, namespace_;        // name is empty with generateName
  Operation operation = Operation::kCreate;
  UserInfo user;
  bool dry_run = false;
  nlohmann::json object, old_object;
};

// Why a body is no review: an HTTP status and a sentence.
struct ReviewError {
  int http_status;  // 400 or 413, 415, 422
  std::string message;
};

// Decodes a whole AdmissionReview; managedFields are left out but of changed jobs. Refuses a wrong apiVersion or kind,
// a missing uid, an unknown operation, objects that are not objects, and what parse_json refuses.
Result<AdmissionRequest, ReviewError> decode_review(std::string_view body);
// The same, but refuses a document whose tree would need more than this number of bytes (api/codec/tree_memory.h).
Result<AdmissionRequest, ReviewError> decode_review_within(std::string_view body, size_t tree_bytes);

// Built only from a request; see admit/deny/patch below.
class AdmissionResponse {
 public:
  // Nothing to change, nothing to say.
  static AdmissionResponse allowed(const AdmissionRequest& request);
  // With the difference between request.object and `object` as a JSON patch; no
  // patch field when there is none.
  static AdmissionResponse patched(const AdmissionRequest& request, const nlohmann::json& object);
  // Status 422 Invalid with every error as a cause. `errors` must not be empty.
  static AdmissionResponse denied(const AdmissionRequest& request, const FieldErrors& errors);
  // The same with status 403 Forbidden, as the webhooks of Kueue answer (controller-runtime's admission.Denied).
  static AdmissionResponse forbidden(const AdmissionRequest& request, const FieldErrors& errors);
  // Another refusal: 403 Forbidden, 503 ServiceUnavailable, 400 BadRequest.
  static AdmissionResponse refused(const AdmissionRequest& request, int code, std::string_view reason,
                                   std::string message);

  // Shown to the user by kubectl; each is cut to 256 characters as the API server would refuse longer ones.
  AdmissionResponse& with_warnings(std::vector<std::string> warnings);

  bool is_allowed() const { return allowed_; }
  int code() const { return code_; }
  const std::string& message() const { return message_; }
  const FieldErrors& errors() const { return errors_; }
  // The patch's operations; an empty array when nothing changes.
  const nlohmann::json& patch() const { return patch_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

  // The AdmissionReview that goes over the wire.
  std::string encode() const;

 private:
  explicit AdmissionResponse(const AdmissionRequest& request);
  static AdmissionResponse with_errors(const AdmissionRequest& request, int code, std::string_view reason,
                                       const FieldErrors& errors);

  std::string uid_;
  bool allowed_ = true;
  int code_ = 200;
  std::string reason_, message_;
  std::string group_, kind_, name_;  // for status.details
  FieldErrors errors_;
  nlohmann::json patch_;
  std::vector<std::string> warnings_;
};

}  // namespace muster
