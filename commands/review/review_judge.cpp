#include "commands/review/review_judge.h"

#include <algorithm>

#include "api/codec/json.h"
#include "api/codec/json_patch.h"
#include "api/conversion/conversion.h"
#include "api/meta/constants.h"
#include "commands/review/core_shapes.h"
#include "commands/review/kubernetes_rules.h"
#include "commands/review/review_input.h"
#include "jobs/job_kind.h"
#include "manifests/schema.h"
#include "mutators/mutator.h"
#include "validators/validator.h"

namespace muster::commands {
namespace {

using nlohmann::json;

constexpr std::string_view kQueueGroup = "kueue.x-k8s.io";
constexpr std::string_view kOlderVersion = "kueue.x-k8s.io/v1beta1";
constexpr std::string_view kStoredVersion = "kueue.x-k8s.io/v1beta2";

std::string version_of(const json& object) {
  const std::string_view api_version = string_at(object, {"apiVersion"});
  return std::string(api_version.substr(api_version.find('/') + 1));
}

// The stored object in the version of the new object, so that both can be compared; null if the conversion
// fails.
json in_version_of(const json& object, json old) {
  if (!old.is_object() || string_at(old, {"apiVersion"}) == string_at(object, {"apiVersion"})) return old;
  const auto wanted = parse_queue_version(string_at(object, {"apiVersion"}));
  if (!wanted) return nullptr;
  if (convert_object(old, *wanted)) return old;
  old["apiVersion"] = string_at(object, {"apiVersion"});
  return old;
}

// Whether one of two fields contains the other.
bool overlap(const std::string& a, const std::string& b) {
  const std::string &shorter = a.size() < b.size() ? a : b, &longer = a.size() < b.size() ? b : a;
  return !shorter.empty() && longer.starts_with(shorter) &&
         (longer.size() == shorter.size() || longer[shorter.size()] == '.' || longer[shorter.size()] == '[');
}

ReviewFinding finding_of(std::string_view rule, const FieldError& error) {
  return {.rule = std::string(rule), .field = error.field, .message = error.message()};
}

// A refusal without errors of fields.
ReviewFinding refusal(const AdmissionResponse& response) {
  return {.rule = "mutation", .message = "Forbidden: " + response.message()};
}

// The sentence of a webhook, with its field where it begins with one: "metadata.labels[x]: sentence".
ReviewFinding warning_of(const std::string& sentence) {
  ReviewFinding finding{.is_error = false, .rule = "warning", .message = sentence};
  const size_t colon = sentence.find(": ");
  const bool has_field = sentence.starts_with("metadata.") || sentence.starts_with("spec.");
  if (!has_field || colon == std::string::npos || sentence.find(' ') < colon) return finding;
  finding.field = sentence.substr(0, colon);
  finding.message = sentence.substr(colon + 2);
  return finding;
}

// The rule behind an error of validate(); errors of the size of an object have none.
std::string_view rule_of(const std::vector<std::string_view>& rules, size_t error) {
  return error < rules.size() ? rules[error] : "size-limit";
}

// One manifest on its way through the API server.
class Judge {
 public:
  Judge(const JudgedRequest& judged, const ClusterView& view, const RuleSettings& settings)
      : judged_(judged), view_(view), settings_(settings), object_(judged.object), old_(judged.old_object) {}

  ReviewedObject run() {
    if (judged_.operation == Operation::kDelete) return remove();
    if (const auto why = why_no_kind(object_)) {
      reviewed_.findings.push_back({.rule = "kind", .field = "kind", .message = *why});
      reviewed_.allowed = false;
      reviewed_.patch = json::array();
      return std::move(reviewed_);
    }
    const manifests::DefinedKind* kind = defined_kind();
    if (kind) read(*kind);
    convert();
    const json before = object_;
    if (mutate_object(kind)) validate_object();
    reviewed_.allowed = std::none_of(reviewed_.findings.begin(), reviewed_.findings.end(),
                                     [](const ReviewFinding& finding) { return finding.is_error; });
    reviewed_.patch = json_diff(before, object_);
    if (reviewed_.allowed) reviewed_.printed = std::move(object_);
    return std::move(reviewed_);
  }

 private:
  ReviewedObject remove() {
    (void)to_stored_version(object_);
    AdmissionRequest request = make_request(nullptr, object_, Operation::kDelete, judged_.position);
    request.user.username = judged_.user;
    take_validated(request);
    reviewed_.patch = json::array();
    return std::move(reviewed_);
  }

  void find(std::string_view rule, const FieldErrors& errors) {
    for (const FieldError& error : errors) reviewed_.findings.push_back(finding_of(rule, error));
  }

  void warn(const char* rule, std::string sentence) {
    reviewed_.findings.push_back({.is_error = false, .rule = rule, .message = std::move(sentence)});
  }

  // The definition that the schema comes from. A JobSet of another controller has that controller's.
  const manifests::DefinedKind* defined_kind() {
    const std::string group(group_of(string_at(object_, {"apiVersion"})));
    const std::string kind(string_at(object_, {"kind"}));
    const manifests::DefinedKind* defined = manifests::find_defined_kind(group, kind);
    if (defined == nullptr) {
      if (manifests::is_defined_group(group))
        warn("unknown-kind",
             "muster has no kind " + kind + " in " + group + ": nothing is checked, and muster does nothing with it");
      return nullptr;
    }
    if (kind == "JobSet" && !settings_.runs_jobsets()) return nullptr;
    if (defined->version(version_of(object_)).schema == nullptr) {
      std::vector<std::string> served;
      for (const std::string& version : defined->served) served.push_back(group + "/" + version);
      find("schema", {not_supported("apiVersion", string_at(object_, {"apiVersion"}), served)});
      return nullptr;
    }
    return defined;
  }

  // The steps before all others: unknown fields, defaults, and a status that only /status can write.
  void read(const manifests::DefinedKind& kind) {
    const manifests::DefinedKind::Version version = kind.version(version_of(object_));
    find("unknown-field", manifests::find_unknown_fields(*version.schema, object_));
    if (version.has_status) keep_status();
    manifests::prune_and_default(*version.schema, object_);
    if (!kind.namespaced && !string_at(object_, {"metadata", "namespace"}).empty())
      find("schema", {forbidden("metadata.namespace", "not allowed on this type: it has no namespace")});
    // Of the older version, paths are as they are written only before the conversion.
    if (string_at(object_, {"apiVersion"}) == kOlderVersion) check(*version.schema);
  }

  void keep_status() {
    object_.erase("status");
    const json old = in_version_of(object_, old_);
    if (const json* status = find_path(old, {"status"})) object_["status"] = *status;
  }

  void check(const json& schema) {
    json old = in_version_of(object_, old_);
    if (old.is_object()) manifests::prune_and_default(schema, old);
    find("schema", manifests::check_schema(schema, object_, old));
  }

  void convert() {
    (void)to_stored_version(old_);
    const auto converted = to_stored_version(object_);
    if (!converted) {
      reviewed_.findings.push_back(
          {.rule = "conversion",
           .message = "cannot be converted to " + std::string(kStoredVersion) + ": " + converted.error().message});
      return;
    }
    converted_ = *converted;
    if (!converted_ || judged_.operation != Operation::kCreate) return;
    object_.erase("status");  // the conversion makes an empty one
  }

  // Whether a part of the object is left to validate.
  bool mutate_object(const manifests::DefinedKind* kind) {
    AdmissionRequest request = make_request(object_, old_, judged_.operation, judged_.position);
    request.user.username = judged_.user;
    const manifests::DefinedKind::Version version =
        kind ? kind->version(version_of(object_)) : manifests::DefinedKind::Version{};
    if (version.schema && converted_) manifests::prune_and_default(*version.schema, object_);
    request.object = object_;
    const AdmissionResponse mutated = mutators::mutate({request, view_, settings_});
    if (!mutated.is_allowed()) {
      take(mutated, {});
      return false;
    }
    if (!mutated.patch().empty()) object_ = object_.patch(mutated.patch());
    for (const std::string& warning : mutated.warnings()) reviewed_.findings.push_back(warning_of(warning));
    if (!version.schema) find("schema", check_by_kubernetes_rules(object_, old_));
    check_shape();
    if (!version.schema) return true;
    manifests::prune_and_default(*version.schema, object_);
    if (!converted_) check(*version.schema);
    return true;
  }

  // What Kubernetes checks of its kinds, and what it will check of the Jobs of a JobSet. Of one field the first
  // error is enough.
  void check_shape() {
    ShapeFindings shape = check_core_shape(object_, settings_);
    find("unknown-field", shape.unknown_fields);
    for (const FieldError& error : shape.errors) {
      if (!is_said_by_schema(error)) find("schema", {error});
    }
  }

  bool has_unknown_fields() const {
    return std::any_of(reviewed_.findings.begin(), reviewed_.findings.end(),
                       [](const ReviewFinding& finding) { return finding.rule == "unknown-field"; });
  }

  void validate_object() {
    AdmissionRequest request = make_request(object_, old_, judged_.operation, judged_.position);
    request.user.username = judged_.user;
    take_validated(request);
  }

  void take_validated(const AdmissionRequest& request) {
    std::vector<std::string_view> rules;
    const AdmissionResponse response = validators::validate_naming_rules({request, view_, settings_}, rules);
    take(response, rules);
  }

  // The answer of a webhook, without fields for which the schema has already reported an error.
  void take(const AdmissionResponse& response, const std::vector<std::string_view>& rules) {
    for (const std::string& warning : response.warnings()) {
      // The webhook warns of what is an error here.
      if (has_unknown_fields() && warning.find("unknown field") != std::string::npos) continue;
      reviewed_.findings.push_back(warning_of(warning));
    }
    if (response.is_allowed()) return;
    reviewed_.allowed = false;
    if (response.errors().empty()) reviewed_.findings.push_back(refusal(response));
    std::vector<ReviewFinding> found;
    for (size_t i = 0; i < response.errors().size(); ++i) {
      FieldError error = response.errors()[i];
      if (is_said_by_schema(error)) continue;
      if (converted_)
        error.detail += " (named as in " + std::string(kStoredVersion) + ", to which the object was converted)";
      found.push_back(finding_of(rule_of(rules, i), error));
    }
    for (ReviewFinding& finding : found) reviewed_.findings.push_back(std::move(finding));
  }

  bool is_said_by_schema(const FieldError& error) const {
    return std::any_of(reviewed_.findings.begin(), reviewed_.findings.end(), [&](const ReviewFinding& finding) {
      return finding.rule == "schema" && overlap(finding.field, error.field);
    });
  }

  const JudgedRequest& judged_;
  const ClusterView& view_;
  const RuleSettings& settings_;
  json object_, old_;
  bool converted_ = false;
  ReviewedObject reviewed_;
};

}  // namespace

Result<bool> to_stored_version(json& object) {
  if (string_at(object, {"apiVersion"}) != kOlderVersion) return false;
  const manifests::DefinedKind* kind = manifests::find_defined_kind(kQueueGroup, string_at(object, {"kind"}));
  if (kind == nullptr) return false;
  if (string_at(*kind->definition, {"spec", "conversion", "strategy"}) != "Webhook") {
    object["apiVersion"] = kStoredVersion;  // both versions have the same fields
    return false;
  }
  if (auto converted = convert_object(object, QueueVersion::kV1Beta2); !converted)
    return fail(converted.error().message);
  return true;
}

ReviewedObject judge_manifest(const JudgedRequest& judged, const ClusterView& view, const RuleSettings& settings) {
  return Judge(judged, view, settings).run();
}

ReviewedObject judge_review(json review, const AdmissionRequest& original, const ClusterView& view,
                            const RuleSettings& settings) {
  AdmissionRequest request = original;
  std::vector<std::string_view> rules;
  AdmissionResponse response = mutators::mutate({request, view, settings});
  const std::vector<std::string> warnings = response.warnings();
  ReviewedObject reviewed;
  reviewed.patch = json::array();
  if (response.is_allowed()) {
    reviewed.patch = response.patch();
    if (!reviewed.patch.empty()) request.object = request.object.patch(reviewed.patch);
    response = validators::validate_naming_rules({request, view, settings}, rules);
    response.with_warnings(warnings);
  }
  for (const std::string& warning : response.warnings()) reviewed.findings.push_back(warning_of(warning));
  reviewed.allowed = response.is_allowed();
  if (!reviewed.allowed && response.errors().empty()) reviewed.findings.push_back(refusal(response));
  for (size_t i = 0; i < response.errors().size(); ++i)
    reviewed.findings.push_back(finding_of(rule_of(rules, i), response.errors()[i]));
  // The answer of one webhook that does both steps.
  if (reviewed.allowed)
    response = AdmissionResponse::patched(original, request.object).with_warnings(response.warnings());
  review["response"] = json::parse(response.encode())["response"];
  reviewed.printed = std::move(review);
  return reviewed;
}

namespace {

// The policy's sentence, but of a kind that this configuration can enable, what is missing.
std::optional<std::string> policy_notice(const json& object, const json& old_object) {
  auto notice = unqueued_notice(object, old_object);
  const std::string_view kind = string_at(object, {"kind"});
  const jobs::JobKind* known = jobs::find_job_kind(group_of(string_at(object, {"apiVersion"})), kind);
  if (!notice || known == nullptr) return notice;
  return std::string(kind) + " is not in integrations.frameworks of this configuration; add " +
         std::string(known->framework) + ". Until then it runs at once and without quota, also if it names a queue.";
}

}  // namespace

void judge_by_policy(UnqueuedKinds action, const json& object, const json& old_object, Operation operation,
                     ReviewedObject& reviewed) {
  if ((operation != Operation::kCreate && operation != Operation::kUpdate) || !reviewed.allowed) return;
  const auto notice = policy_notice(object, old_object);
  if (!notice) return;
  const bool denied = action == UnqueuedKinds::kDeny, is_cron_job = string_at(object, {"kind"}) == "CronJob";
  reviewed.findings.push_back({.is_error = denied,
                               .rule = is_cron_job ? "cronjob-queue" : "kind-not-queued",
                               .message = (denied ? "Forbidden: " : "") + *notice});
  if (is_cron_job) reviewed.findings.back().field = "metadata.labels[" + std::string(kQueueNameLabel) + "]";
  if (!denied) return;
  reviewed.allowed = false;
  reviewed.printed = nullptr;
  reviewed.patch = json::array();
}

void judge_by_policy(UnqueuedKinds action, const AdmissionRequest& request, ReviewedObject& reviewed) {
  json review = reviewed.printed;
  const bool was_allowed = reviewed.allowed;
  judge_by_policy(action, request.object, request.old_object, request.operation, reviewed);
  if (reviewed.allowed || !was_allowed) return;
  const std::string why = *policy_notice(request.object, request.old_object);
  review["response"] = json::parse(AdmissionResponse::refused(request, 403, "Forbidden", why).encode())["response"];
  reviewed.printed = std::move(review);
}

}  // namespace muster::commands
