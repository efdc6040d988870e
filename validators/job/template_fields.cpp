// Typing mistakes in Job and pod templates, which the API server does not check inside of JobSets. A field of a
// wrong type is rejected with its path, and an unknown field causes a warning with Kubernetes' own message. A
// newer API server can know more fields, so unknown fields are allowed. Rejected, for example:
//
//   containers: [{name: main, image: 5}]
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/review/pod_schema.h"
#include "jobs/job_kind.h"
#include "jobs/management.h"
#include "validators/validator.h"

namespace muster::validators::template_fields {
namespace {

using nlohmann::json;

// A Job is checked by the API server itself, but not by `muster review`.
SchemaFindings find_in(const Review& review, const json& object) {
  SchemaFindings found;
  if (review.request.resource == jobs::batch_job.type.plural) {
    if (const json* spec = find_path(object, {"spec"})) check_template("JobSpec", *spec, FieldPath("spec"), found);
    return found;
  }
  if (review.request.resource != jobs::jobset.type.plural) {
    const jobs::JobKind* kind = jobs::enabled_kind(review);
    if (kind == nullptr || kind == &jobs::plain_pod) return found;
    for (const jobs::ConstPodTemplateRef& ref : kind->read_pod_templates(object))
      check_template("PodTemplateSpec", *ref.template_json, ref.path, found);
    return found;
  }
  const json& replicated = array_at(object, {"spec", "replicatedJobs"});
  for (size_t i = 0; i < replicated.size(); ++i) {
    const FieldPath path = FieldPath("spec").child("replicatedJobs").index(i).child("template");
    if (const json* job_template = find_path(replicated[i], {"template"}))
      check_template("JobTemplateSpec", *job_template, path, found);
  }
  return found;
}

// Such as an update of metadata alone. Nothing is new then, and templates can be large.
bool keeps_spec(const Review& review) {
  const json* after = find_path(review.request.object, {"spec"});
  const json* before = find_path(review.request.old_object, {"spec"});
  return after != nullptr && before != nullptr && *after == *before;
}

FieldErrors check(const Review& review) {
  if (keeps_spec(review)) return {};
  return new_errors(review, [&](const json& object) {
    SchemaFindings found = find_in(review, object);
    if (found.more_errors > 0)
      found.errors.push_back(
          forbidden(FieldPath("spec"), "has " + std::to_string(found.more_errors) + " more fields of a wrong type"));
    return std::move(found.errors);
  });
}

// The API server shows a user warnings of 4 KiB in all.
constexpr size_t kMostWarnings = 10;

std::vector<std::string> warn(const Review& review) {
  if (keeps_spec(review)) return {};
  const SchemaFindings found = find_in(review, review.request.object);
  if (found.unknown.empty()) return {};
  std::set<std::string> before;
  if (review.request.operation == Operation::kUpdate) {
    for (std::string& path : find_in(review, review.request.old_object).unknown) before.insert(std::move(path));
  }
  std::vector<std::string> warnings;
  size_t more = before.empty() ? found.more_unknown : 0;
  for (const std::string& path : found.unknown) {
    if (before.contains(path)) continue;
    if (warnings.size() < kMostWarnings)
      warnings.push_back("unknown field \"" + path + "\"");
    else
      ++more;
  }
  if (more > 0) warnings.push_back("and " + std::to_string(more) + " more unknown fields");
  return warnings;
}

}  // namespace

extern const Validator rule = {
    .name = "template_fields",
    .matches = {kQueuedJobs},
    .operations = {Operation::kCreate, Operation::kUpdate},
    .check = check,
    .warn = warn,
};

}  // namespace muster::validators::template_fields
