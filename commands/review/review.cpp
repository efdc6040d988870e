#include "commands/review/review.h"

#include <algorithm>
#include <map>
#include <ostream>

#include "api/codec/json.h"
#include "commands/review/review_input.h"
#include "commands/review/review_judge.h"
#include "commands/review/review_kinds.h"
#include "jobs/job_kind.h"
#include "runtime/load_settings.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// Without the version: an object that is stored as v1beta2 can be changed as v1beta1.
std::string identity_of(const json& object) {
  return std::string(group_of(string_at(object, {"apiVersion"}))) + "/" + std::string(string_at(object, {"kind"})) +
         "/" + std::string(string_at(object, {"metadata", "namespace"})) + "/" +
         std::string(string_at(object, {"metadata", "name"}));
}

// Every object of the input is a fact to the rules. A namespace that is only
// named exists too, with the label that the API server gives every namespace.
ClusterView view_of(const std::vector<InputDocument>& documents) {
  ClusterView view;
  auto imply_namespace = [&](std::string_view ns) {
    if (ns.empty() || view.namespace_labels(ns)) return;
    view.put({{"apiVersion", "v1"},
              {"kind", "Namespace"},
              {"metadata", {{"name", ns}, {"labels", {{"kubernetes.io/metadata.name", ns}}}}}});
  };
  for (const InputDocument& document : documents) {
    if (document.is_review() || document.value.is_null()) continue;
    json object = document.value;
    if (string_at(object, {"kind"}) == "Namespace" && object.contains("metadata") && object["metadata"].is_object()) {
      json& labels = object["metadata"]["labels"];
      if (!labels.is_object()) labels = json::object();
      labels["kubernetes.io/metadata.name"] = string_at(object, {"metadata", "name"});
    }
    (void)to_stored_version(object);  // an object that cannot be converted is reported later, in its own review
    view.put(object);
  }
  for (const InputDocument& document : documents) {
    imply_namespace(document.is_review() ? string_at(document.value, {"request", "namespace"})
                                         : string_at(document.value, {"metadata", "namespace"}));
  }
  return view;
}

// One run over all documents.
class Run {
 public:
  Run(const ReviewOptions& options, const RuleSettings& settings, UnqueuedKinds unqueued, const ClusterView& view)
      : options_(options), settings_(settings), unqueued_(unqueued), view_(view) {}

  Outcome<> remember_old(const std::vector<InputDocument>& documents) {
    for (const InputDocument& document : documents) {
      if (!old_.emplace(identity_of(document.value), document.value).second) {
        return fail(document.place() + ": a second old object of the name " + display_name(document.value));
      }
    }
    return Done{};
  }

  void take(const InputDocument& document) {
    auto reviewed = take_document(document);
    if (!reviewed) reviewed = unread(reviewed.error().message, document.harmless);
    reviewed->file = document.file;
    reviewed->line = document.line;
    const std::string below = document.is_review() ? "request.object." : "";
    for (ReviewFinding& finding : reviewed->findings)
      finding.line = lines_.line_of(document, finding.field.empty() ? "" : below + finding.field);
    objects_.push_back(std::move(*reviewed));
  }
  const std::vector<ReviewedObject>& objects() const { return objects_; }

 private:
  static ReviewedObject unread(const std::string& why, bool harmless) {
    ReviewedObject reviewed;
    reviewed.allowed = harmless;
    reviewed.readable = false;
    reviewed.findings.push_back({.is_error = !harmless, .rule = "input", .message = why});
    reviewed.patch = json::array();
    return reviewed;
  }

  Result<ReviewedObject> take_document(const InputDocument& document) {
    if (!document.why_unread.empty()) return fail(document.why_unread);
    return document.is_review() ? take_review(document) : take_manifest(document);
  }

  Result<ReviewedObject> take_manifest(const InputDocument& document) {
    JudgedRequest request{.object = document.value, .old_object = nullptr, .operation = options_.operation};
    const std::string name = display_name(document.value);
    if (options_.operation == Operation::kUpdate) {
      auto found = old_.find(identity_of(document.value));
      if (found == old_.end()) {
        return fail(name + " is not among the old objects; an UPDATE needs it in --old");
      }
      request.old_object = found->second;
    }
    request.user = options_.user;
    request.position = objects_.size();
    ReviewedObject reviewed = judge_manifest(request, view_, settings_);
    if (!has_queue(request.object))
      judge_by_policy(unqueued_, request.object, request.old_object, options_.operation, reviewed);
    reviewed.name = name;
    return reviewed;
  }

  Result<ReviewedObject> take_review(const InputDocument& document) {
    auto request = decode_review(to_text(document.value));
    if (!request) return fail(request.error().message);
    json named = request->operation == Operation::kDelete ? request->old_object : request->object;
    if (named.is_object() && !named.contains("kind")) named["kind"] = request->kind;
    ReviewedObject reviewed = judge_review(document.value, *request, view_, settings_);
    if (request->sub_resource.empty() && !has_queue(request->object)) judge_by_policy(unqueued_, *request, reviewed);
    reviewed.name = display_name(named);
    return reviewed;
  }

  // muster queues its kind, or the kind's own controller does (manifests/unqueued_policy.h).
  bool has_queue(const json& object) const {
    const std::string_view api_version = string_at(object, {"apiVersion"});
    const std::string_view kind = string_at(object, {"kind"});
    const jobs::JobKind* known = jobs::find_job_kind(group_of(api_version), kind);
    return (known != nullptr && known->is_enabled(settings_)) || settings_.is_external(api_version, kind);
  }

  const ReviewOptions& options_;
  const RuleSettings& settings_;
  const UnqueuedKinds unqueued_;
  const ClusterView& view_;
  LineFinder lines_;
  std::map<std::string, json> old_;
  std::vector<ReviewedObject> objects_;
};

Outcome<> check_options(const ReviewOptions& options) {
  if (options.sources.files.empty() && options.sources.kustomizations.empty())
    return fail("name what to review: -f FILE, -f FOLDER, -f - for standard input, or -k FOLDER");
  if (options.operation == Operation::kUpdate && options.old_file.empty()) {
    return fail("--operation UPDATE needs --old FILE with the objects as they are stored");
  }
  if (options.operation != Operation::kUpdate && !options.old_file.empty()) {
    return fail("--old goes with --operation UPDATE only");
  }
  if (!options.kinds_file.empty() && options.format != ReviewFormat::kYaml)
    return fail("--kinds prints what muster sees of each job; leave -o out");
  if (options.verbose && options.format != ReviewFormat::kTable)
    return fail("-v adds the allowed objects to the table; it goes with -o table only");
  return Done{};
}

Result<std::vector<InputDocument>> read_input(const SourceNames& names, std::istream& standard_input) {
  const auto sources = read_sources(names, standard_input);
  if (!sources) return fail(sources.error().message);
  auto documents = read_each_document(*sources);
  const bool nothing =
      std::all_of(documents.begin(), documents.end(), [](const InputDocument& document) { return document.harmless; });
  if (nothing)
    return fail(documents.size() == 1 ? documents[0].file + ": holds no object" : "the files hold no object");
  return documents;
}

Result<std::vector<InputDocument>> read_old(const std::string& file, std::istream& standard_input) {
  const auto sources = read_sources({.files = {file}}, standard_input);
  if (!sources) return fail(sources.error().message);
  return read_documents(*sources);
}

// muster's view of the jobs among the documents, which can consult each other.
std::string seen_in(const std::vector<InputDocument>& documents, const QueueSettings& settings) {
  std::string text;
  for (const InputDocument& document : documents) {
    if (document.is_review()) continue;
    const std::string_view ns = string_at(document.value, {"metadata", "namespace"});
    const ConsultedLookup find = [&](const ConsultedKind& kind, std::string_view name) -> const json* {
      for (const InputDocument& other : documents) {
        const json& object = other.value;
        const bool of_kind =
            string_at(object, {"kind"}) == kind.kind && group_of(string_at(object, {"apiVersion"})) == kind.group;
        const bool there = !kind.namespaced || string_at(object, {"metadata", "namespace"}) == ns;
        if (of_kind && there && string_at(object, {"metadata", "name"}) == name) return &object;
      }
      return nullptr;
    };
    text += what_is_seen(document.value, find, settings);
  }
  return text;
}

Outcome<> review_all(const ReviewOptions& options, std::istream& standard_input, std::vector<ReviewedObject>& objects,
                     std::string& seen) {
  if (auto checked = check_options(options); !checked) return checked;
  runtime::SettingsFlags flags;
  flags.config_file = options.config_file;
  flags.kinds_file = options.kinds_file;
  const auto settings = runtime::load_settings(flags, std::string(manifests::kDefaultNamespace));
  if (!settings) return fail(settings.error().message);
  // Without a cluster, muster counts as the JobSet controller unless a flag says otherwise.
  const bool native_jobsets = settings->configuration.muster.jobset_controller != JobSetController::kExternal;
  const RuleSettings rules = runtime::rule_settings_of(*settings, {}, native_jobsets);
  const auto documents = read_input(options.sources, standard_input);
  if (!documents) return fail(documents.error().message);

  const ClusterView view = view_of(*documents);
  const UnqueuedKinds unqueued = settings->configuration.muster.unqueued_kinds.value_or(UnqueuedKinds::kWarn);
  Run run(options, rules, unqueued, view);
  if (!options.old_file.empty()) {
    const auto old_documents = read_old(options.old_file, standard_input);
    if (!old_documents) return fail(old_documents.error().message);
    if (auto kept = run.remember_old(*old_documents); !kept) return kept;
  }
  for (const InputDocument& document : *documents) run.take(document);
  objects = run.objects();
  if (!options.kinds_file.empty())
    seen =
        seen_in(*documents, make_queue_settings(settings->configuration.kueue, settings->configuration.muster, rules));
  return Done{};
}

}  // namespace

int review(const ReviewOptions& options, ReviewStreams streams) {
  std::vector<ReviewedObject> objects;
  std::string seen;
  if (auto done = review_all(options, streams.in, objects, seen); !done) {
    streams.err << "muster review: " << done.error().message << "\n";
    return kReviewUnusable;
  }
  const ReviewOutput output = print_review(options.format, objects, options.verbose);
  streams.out << (options.kinds_file.empty() ? output.out : seen);
  streams.err << output.err;
  const bool rejected = std::any_of(objects.begin(), objects.end(), [&](const ReviewedObject& object) {
    return !object.allowed || (options.strict && !object.findings.empty());
  });
  return rejected ? kReviewRejected : kReviewAllowed;
}

}  // namespace muster::commands
