#include "commands/review.h"

#include <map>
#include <ostream>

#include "api/json.h"
#include "api/yaml.h"
#include "commands/load_settings.h"
#include "commands/review_input.h"
#include "mutators/mutator.h"
#include "validators/validator.h"

namespace muster {
namespace {

using nlohmann::json;

std::string identity_of(const json& object) {
  return std::string(string_at(object, {"apiVersion"})) + "/" + std::string(string_at(object, {"kind"})) + "/" +
         std::string(string_at(object, {"metadata", "namespace"})) + "/" +
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
    if (document.is_review()) continue;
    json object = document.value;
    if (string_at(object, {"kind"}) == "Namespace") {
      object["metadata"]["labels"]["kubernetes.io/metadata.name"] = string_at(object, {"metadata", "name"});
    }
    view.put(object);
  }
  for (const InputDocument& document : documents) {
    imply_namespace(document.is_review() ? string_at(document.value, {"request", "namespace"})
                                         : string_at(document.value, {"metadata", "namespace"}));
  }
  return view;
}

struct Verdict {
  json object;  // after the mutators; null when it was deleted
  json patch;
  AdmissionResponse response;
};

// What the API server does with both webhooks: mutate, then validate the outcome.
Verdict judge(AdmissionRequest request, const ClusterView& view, const RuleSettings& settings) {
  AdmissionResponse mutated = mutate({request, view, settings});
  if (!mutated.is_allowed()) return {nullptr, json::array(), std::move(mutated)};
  json patch = mutated.patch();
  if (!patch.empty()) request.object = request.object.patch(patch);
  AdmissionResponse validated = validate({request, view, settings});
  validated.with_warnings(mutated.warnings());
  return {std::move(request.object), std::move(patch), std::move(validated)};
}

// What muster's admission policy says of objects that the webhooks never see.
Verdict judge_by_policy(const AdmissionRequest& request, UnqueuedKinds action, Verdict verdict) {
  const bool changes = request.operation == Operation::kCreate || request.operation == Operation::kUpdate;
  if (!changes || !request.sub_resource.empty() || !verdict.response.is_allowed()) return verdict;
  auto notice = unqueued_notice(request.object, request.old_object);
  if (!notice) return verdict;
  if (action == UnqueuedKinds::kWarn) {
    verdict.response.with_warnings({*std::move(notice)});
    return verdict;
  }
  return {nullptr, json::array(), AdmissionResponse::refused(request, 403, "Forbidden", *std::move(notice))};
}

class Printer {
 public:
  Printer(ReviewFormat format, ReviewStreams streams) : format_(format), streams_(streams) {}

  void allowed(const std::string& name, const json& object, const json& patch) {
    if (format_ == ReviewFormat::kPatch) {
      streams_.out << to_text({{"object", name}, {"patch", patch}}) << "\n";
    } else if (!object.is_null()) {
      document(object);
    }
  }
  void document(const json& value) {
    if (format_ == ReviewFormat::kJson) {
      streams_.out << to_text(value) << "\n";
      return;
    }
    if (!first_) streams_.out << "---\n";
    first_ = false;
    streams_.out << write_yaml(value);
  }
  void rejected(const std::string& name, const AdmissionResponse& response) {
    if (response.errors().empty()) streams_.err << name << ": Forbidden: " << response.message() << "\n";
    for (const FieldError& error : response.errors()) streams_.err << name << ": " << error.text() << "\n";
  }
  void warned(const std::string& name, const AdmissionResponse& response) {
    for (const std::string& warning : response.warnings()) streams_.err << name << ": warning: " << warning << "\n";
  }
  void unusable(const std::string& why) { streams_.err << "muster review: " << why << "\n"; }

 private:
  ReviewFormat format_;
  ReviewStreams streams_;
  bool first_ = true;
};

// One run over all documents.
class Run {
 public:
  Run(const ReviewOptions& options, const RuleSettings& settings, UnqueuedKinds unqueued, const ClusterView& view,
      Printer& printer)
      : options_(options), settings_(settings), unqueued_(unqueued), view_(view), printer_(printer) {}

  Outcome<> remember_old(const std::vector<InputDocument>& documents) {
    for (const InputDocument& document : documents) {
      if (!old_.emplace(identity_of(document.value), document.value).second) {
        return fail(document.place() + ": a second old object of the name " + display_name(document.value));
      }
    }
    return Done{};
  }

  Outcome<> take(const InputDocument& document) {
    return document.is_review() ? take_review(document) : take_manifest(document);
  }
  bool any_rejected() const { return rejected_; }

 private:
  Outcome<> take_manifest(const InputDocument& document) {
    const json& object = document.value;
    const std::string name = display_name(object);
    json old_object;
    if (options_.operation == Operation::kUpdate) {
      auto found = old_.find(identity_of(object));
      if (found == old_.end()) {
        return fail(document.place() + ": " + name + " is not among the old objects; an UPDATE needs it in --old");
      }
      old_object = found->second;
    }
    const bool deleting = options_.operation == Operation::kDelete;
    AdmissionRequest request = make_request(deleting ? json(nullptr) : object, deleting ? object : old_object,
                                            options_.operation, position_++);
    request.user.username = options_.user;
    const Verdict verdict = judge_by_policy(request, unqueued_, judge(request, view_, settings_));
    report(name, verdict);
    if (verdict.response.is_allowed()) printer_.allowed(name, verdict.object, verdict.patch);
    return Done{};
  }

  Outcome<> take_review(const InputDocument& document) {
    auto request = decode_review(to_text(document.value));
    if (!request) return fail(document.place() + ": " + request.error().message);
    const json& subject = request->operation == Operation::kDelete ? request->old_object : request->object;
    json named = subject;
    if (named.is_object() && !named.contains("kind")) named["kind"] = request->kind;
    const std::string name = display_name(named);
    const AdmissionRequest original = *request;
    const Verdict verdict = judge_by_policy(original, unqueued_, judge(std::move(*request), view_, settings_));
    report(name, verdict);
    if (options_.format == ReviewFormat::kPatch) {
      if (verdict.response.is_allowed()) printer_.allowed(name, verdict.object, verdict.patch);
      return Done{};
    }
    printer_.document(answered(document.value, original, verdict));
    return Done{};
  }

  // The review with its response, as one webhook that did both steps would answer.
  static json answered(json review, const AdmissionRequest& request, const Verdict& verdict) {
    AdmissionResponse response = verdict.response;
    if (response.is_allowed()) {
      response = AdmissionResponse::patched(request, verdict.object).with_warnings(verdict.response.warnings());
    }
    review["response"] = json::parse(response.encode())["response"];
    return review;
  }

  void report(const std::string& name, const Verdict& verdict) {
    printer_.warned(name, verdict.response);
    if (verdict.response.is_allowed()) return;
    rejected_ = true;
    printer_.rejected(name, verdict.response);
  }

  const ReviewOptions& options_;
  const RuleSettings& settings_;
  const UnqueuedKinds unqueued_;
  const ClusterView& view_;
  Printer& printer_;
  std::map<std::string, json> old_;
  size_t position_ = 0;
  bool rejected_ = false;
};

Outcome<> check_options(const ReviewOptions& options) {
  if (options.operation == Operation::kUpdate && options.old_file.empty()) {
    return fail("--operation UPDATE needs --old FILE with the objects as they are stored");
  }
  if (options.operation != Operation::kUpdate && !options.old_file.empty()) {
    return fail("--old goes with --operation UPDATE only");
  }
  return Done{};
}

}  // namespace

int review(const ReviewOptions& options, ReviewStreams streams) {
  Printer printer(options.format, streams);
  auto unusable = [&](const std::string& why) {
    printer.unusable(why);
    return kReviewUnusable;
  };
  if (auto checked = check_options(options); !checked) return unusable(checked.error().message);
  SettingsFlags flags;
  flags.config_file = options.config_file;
  auto settings = load_settings(flags, std::string(kDefaultNamespace));
  if (!settings) return unusable(settings.error().message);
  // Without a cluster to ask, JobSets are muster's own unless somebody says otherwise.
  const bool native_jobsets = settings->configuration.muster.jobset_controller != JobSetController::kExternal;
  const RuleSettings rules = rule_settings_of(*settings, {}, native_jobsets);
  auto documents = read_documents(options.files, streams.in);
  if (!documents) return unusable(documents.error().message);

  const ClusterView view = view_of(*documents);
  const UnqueuedKinds unqueued = settings->configuration.muster.unqueued_kinds.value_or(UnqueuedKinds::kWarn);
  Run run(options, rules, unqueued, view, printer);
  if (!options.old_file.empty()) {
    auto old_documents = read_documents({options.old_file}, streams.in);
    if (!old_documents) return unusable(old_documents.error().message);
    if (auto kept = run.remember_old(*old_documents); !kept) return unusable(kept.error().message);
  }
  for (const InputDocument& document : *documents) {
    if (auto taken = run.take(document); !taken) return unusable(taken.error().message);
  }
  return run.any_rejected() ? kReviewRejected : kReviewAllowed;
}

}  // namespace muster
