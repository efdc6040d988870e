#include "commands/moving/adopt.h"

#include <nlohmann/json.hpp>
#include <ostream>

#include "api/codec/json.h"
#include "commands/moving/read_cluster.h"
#include "commands/moving/rules/adoption_parts.h"
#include "commands/moving/rules/preflight.h"
#include "kube/leases/lease_record.h"
#include "manifests/catalog.h"
#include "manifests/schema.h"

namespace muster::commands {
namespace {

using kube::Resource;
using nlohmann::json;

constexpr Duration kBetweenReadings = std::chrono::seconds(1);
// After this number of conflicts, another client changes the same objects all the time.
constexpr int kMostConflicts = 30;

std::vector<Reading> state_readings(const std::string& ns) {
  std::vector<Reading> readings = component_readings();
  for (const manifests::DefinedKind& kind : manifests::defined_kinds())
    readings.push_back(
        {kube::resource_of(kCustomResourceDefinitions), named(string_at(*kind.definition, {"metadata", "name"}))});
  readings.push_back({deployments(), named("muster", ns)});
  for (const std::string_view name : {std::string_view("muster-config"), kAdoptionRecordName})
    readings.push_back({kube::resource_of(kConfigMaps), named(name, ns)});
  return readings;
}

std::vector<Reading> pod_readings(const ClusterDump& state) {
  std::vector<Reading> readings;
  for (const json* deployment : state.of_kind("apps", "Deployment")) {
    const json& labels = object_at(*deployment, {"spec", "selector", "matchLabels"});
    std::string selector;
    for (auto it = labels.begin(); it != labels.end(); ++it) {
      if (it.value().is_string())
        selector += (selector.empty() ? "" : ",") + it.key() + "=" + it.value().get<std::string>();
    }
    readings.push_back(
        {kube::resource_of(kPods),
         {.ns = std::string(string_at(*deployment, {"metadata", "namespace"})), .label_selector = selector}});
  }
  return readings;
}

struct Right {
  const char *verb, *group, *resource, *subresource;
};
// Without each of these a move would stop halfway.
constexpr Right kRights[] = {{"create", "", "configmaps", ""},
                             {"patch", "apps", "deployments", ""},
                             {"create", "coordination.k8s.io", "leases", ""},
                             {"patch", "coordination.k8s.io", "leases", ""},
                             {"patch", "apiextensions.k8s.io", "customresourcedefinitions", ""},
                             {"patch", "apiextensions.k8s.io", "customresourcedefinitions", "status"},
                             {"create", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", ""},
                             {"delete", "admissionregistration.k8s.io", "mutatingwebhookconfigurations", ""},
                             {"create", "admissionregistration.k8s.io", "validatingwebhookconfigurations", ""},
                             {"delete", "admissionregistration.k8s.io", "validatingwebhookconfigurations", ""},
                             {"create", "apiregistration.k8s.io", "apiservices", ""},
                             {"delete", "apiregistration.k8s.io", "apiservices", ""},
                             {"patch", "kueue.x-k8s.io", "workloads", ""},
                             {"patch", "kueue.x-k8s.io", "clusterqueues", ""}};

Outcome<> check_rights(kube::KubeApi& api) {
  std::string missing;
  for (const Right& right : kRights) {
    json attributes = {{"verb", right.verb}, {"group", right.group}, {"resource", right.resource}};
    if (*right.subresource != '\0') attributes["subresource"] = right.subresource;
    const json review = {{"apiVersion", "authorization.k8s.io/v1"},
                         {"kind", "SelfSubjectAccessReview"},
                         {"spec", {{"resourceAttributes", attributes}}}};
    const auto answer = api.create({"authorization.k8s.io", "v1", "selfsubjectaccessreviews", false, ""}, "", review);
    if (!answer) return fail("your rights could not be asked for: " + answer.error().message + "; nothing was changed");
    if (bool_at(*answer, {"status", "allowed"})) continue;
    missing += std::string(missing.empty() ? "" : ", ") + right.verb + " " + right.resource +
               (*right.subresource == '\0' ? "" : "/" + std::string(right.subresource));
  }
  if (missing.empty()) return Done{};
  return fail("you lack rights that the move needs (" + missing +
              "); nothing was changed; use a cluster administrator");
}

class Adoption {
 public:
  Adoption(kube::KubeApi& api, const AdoptFlags& flags, const kube::Timing& timing, ReviewStreams streams)
      : api_(api), flags_(flags), timing_(timing), out_(streams.out), err_(streams.err) {
    options_.muster_namespace = flags.cluster.muster_namespace;
    options_.jobset = flags.jobset;
  }

  int run() {
    auto state = read_adoption_state(api_, options_.muster_namespace);
    if (!state) return stop(state.error().message);
    if (!flags_.undo && record_of(*state, options_) == nullptr) {
      if (steps_in(*state).empty()) return nothing("Kueue is not there: there is nothing to adopt.");
      if (auto may = may_begin(*state); !may) return stop(may.error().message);
    }
    if (flags_.undo && steps_in(*state).empty())
      return nothing("There is no record of a move: nothing is to be undone.");
    read_webhooks(*state);
    return flags_.dry_run ? print(steps_in(*state)) : carry_out(std::move(*state));
  }

 private:
  int stop(const std::string& why) {
    err_ << "muster adopt: " << why << "\n";
    return 1;
  }
  int nothing(const char* sentence) {
    out_ << sentence << "\n";
    return 0;
  }
  std::vector<AdoptionStep> steps_in(const ClusterDump& state) const {
    return flags_.undo ? undo_steps(state, options_) : adoption_steps(state, options_);
  }

  // muster's webhooks follow from its configuration, as with `muster manifests`.
  void read_webhooks(const ClusterDump& state) {
    const json* map = state.find("", "ConfigMap", options_.muster_namespace, "muster-config");
    manifests::ManifestOptions manifest;
    auto settings = runtime::settings_of_text(map == nullptr ? "" : string_at(*map, {"data", "config.yaml"}),
                                              options_.muster_namespace);
    if (settings) {
      const bool native = settings->configuration.muster.jobset_controller == JobSetController::kNative;
      manifest.registration = runtime::registration_of(*settings, options_.muster_namespace, "", native);
    }
    options_.webhooks = manifests::manifests(manifests::ManifestSet::kWebhooks, manifest);
  }

  Outcome<> may_begin(const ClusterDump& state) {
    ClusterDump whole;
    if (auto read = read_into(api_, preflight_readings(), whole); !read) return fail(read.error().message);
    std::vector<Finding> findings = adoption_obstacles(state, options_, flags_.keep_configuration);
    for (Finding& finding :
         preflight(whole, {.muster_namespace = options_.muster_namespace, .server_minor = server_minor(api_)})) {
      const bool harm = finding.severity == Severity::kHarm && finding.rule != "webhooks-without-server";
      const bool unknown = finding.severity == Severity::kUnknown;
      if (finding.severity == Severity::kBlocker || ((harm || unknown) && !flags_.accept_harm))
        findings.push_back(std::move(finding));
    }
    findings = sorted_findings(std::move(findings));
    if (!findings.empty()) {
      out_ << print_findings(findings, FindingFormat::kTable, "");
      return fail(findings.front().severity == Severity::kBlocker
                      ? "the move cannot begin, and nothing was changed"
                      : "the move would do harm, and nothing was changed; --accept-harm begins it all the same");
    }
    return flags_.dry_run ? Outcome<>(Done{}) : check_rights(api_);
  }

  int print(const std::vector<AdoptionStep>& steps) {
    int number = 0;
    for (const AdoptionStep& step : steps) {
      out_ << ++number << ". " << step.name << ": " << step.sentence << (step.done ? " (nothing to do)" : "") << "\n";
      for (const AdoptionChange& change : step.changes) out_ << "     " << text_of(change) << "\n";
    }
    out_ << "Nothing was changed (dry run).\n";
    return 0;
  }

  static std::string text_of(const AdoptionChange& change) {
    static constexpr const char* kVerbs[] = {"create", "change", "replace", "delete"};
    return std::string(kVerbs[static_cast<int>(change.verb)]) + " " + change.resource.kind + " " +
           (change.ns.empty() ? "" : change.ns + "/") + change.name;
  }

  int carry_out(ClusterDump state) {
    const std::string again = "; " + std::string(flags_.undo ? "muster adopt --undo" : "muster adopt") +
                              " continues from here when you run it again";
    int conflicts = 0;
    std::string waits_for;
    MonotonicTime since{};
    while (true) {
      const std::vector<AdoptionStep> steps = steps_in(state);
      const AdoptionStep* step = next_step(steps);
      if (step == nullptr) break;
      const MonotonicTime now = timing_.clock.now().monotonic;
      if (step->name != waits_for) {
        out_ << step->name << ": " << step->sentence << std::endl;
        waits_for = step->name;
        since = now;
      }
      if (step->changes.empty()) {
        if (now - since > flags_.timeout) return stop("this took longer than --timeout: " + step->sentence + again);
        timing_.sleeper.sleep(kBetweenReadings, {});
      } else if (auto done = perform(*step); !done) {
        if (!done.error().conflict() || ++conflicts > kMostConflicts)
          return stop(step->name + ": " + done.error().message + again);
        timing_.sleeper.sleep(kBetweenReadings, {});
      }
      auto next = read_adoption_state(api_, options_.muster_namespace);
      if (!next) return stop(next.error().message + again);
      state = std::move(*next);
    }
    out_ << (flags_.undo
                 ? "Everything is as it was. muster has no replica; uninstall it (docs/uninstall.md) or leave it."
                 : "muster has taken over. muster adopt --undo reverts this.")
         << "\n";
    return 0;
  }

  Outcome<kube::StatusError> perform(const AdoptionStep& step) {
    for (const Resource& kind : step.rewrites) {
      if (auto done = rewrite(kind); !done) return done;
    }
    for (const AdoptionChange& change : step.changes) {
      if (auto done = perform(change); !done) return done;
    }
    if (step.settle > Duration::zero()) timing_.sleeper.sleep(step.settle, {});
    return Done{};
  }

  Outcome<kube::StatusError> perform(const AdoptionChange& change) {
    const kube::WriteOptions options{.subresource = change.subresource, .field_manager = "muster-adopt"};
    kube::KubeApi::Answer answer = json();
    switch (change.verb) {
      case AdoptionChange::Verb::kCreate:
        answer = api_.create(change.resource, change.ns, change.body, options);
        if (!answer && answer.error().already_exists()) return Done{};
        break;
      case AdoptionChange::Verb::kMerge:
        answer = api_.patch_merge(change.resource, change.ns, change.name, change.body, options);
        break;
      case AdoptionChange::Verb::kUpdate:
        answer = api_.update(change.resource, change.ns, change.name, change.body, options);
        break;
      case AdoptionChange::Verb::kDelete:
        answer = api_.remove(change.resource, change.ns, change.name,
                             {.uid = std::string(string_at(change.body, {"metadata", "uid"}))});
        if (!answer && answer.error().not_found()) return Done{};
        break;
    }
    if (!answer) return fail_with(answer.error());
    return Done{};
  }

  // A write without a change is still stored if the storage version has changed.
  Outcome<kube::StatusError> rewrite(const Resource& kind) {
    std::vector<std::pair<std::string, std::string>> names;
    const kube::ListHandler handler{
        .started = [&] { names.clear(); },
        .item =
            [&](json& item) {
              names.emplace_back(string_at(item, {"metadata", "namespace"}), string_at(item, {"metadata", "name"}));
            }};
    const auto listed = api_.list(kind, {.metadata_only = true}, handler);
    if (!listed) return fail_with(listed.error());
    for (const auto& [ns, name] : names) {
      const auto written =
          api_.patch_merge(kind, ns, name, json::object(), {.field_manager = "muster-adopt", .metadata_only = true});
      if (!written && !written.error().not_found()) return fail_with(written.error());
    }
    return Done{};
  }

  kube::KubeApi& api_;
  const AdoptFlags& flags_;
  const kube::Timing& timing_;
  std::ostream& out_;
  std::ostream& err_;
  AdoptionOptions options_;
};

}  // namespace

Result<ClusterDump> read_adoption_state(kube::KubeApi& api, const std::string& muster_namespace) {
  ClusterDump state;
  if (auto read = read_into(api, state_readings(muster_namespace), state); !read) return fail(read.error().message);
  if (auto read = read_into(api, pod_readings(state), state); !read) return fail(read.error().message);
  if (state.unread().empty()) return state;
  const auto& [what, why] = state.unread().front();
  return fail(what + " could not be read: " + why + "; use a cluster administrator");
}

int adopt_in(kube::KubeApi& api, const AdoptFlags& flags, const kube::Timing& timing, ReviewStreams streams) {
  return Adoption(api, flags, timing, streams).run();
}

}  // namespace muster::commands
