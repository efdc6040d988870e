#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "api/codec/json.h"
#include "api/config/configuration_validate.h"
#include "api/meta/label_rules.h"
#include "api/meta/names.h"
#include "api/meta/selectors.h"
#include "api/meta/time.h"
#include "kinds/unqueued_kinds.h"

namespace muster {

namespace {

using nlohmann::json;

struct Framework {
  std::string name;  // Kueue's
  std::string kind;  // as externalFrameworks would name the same kind
  bool has_multikueue_adapter;
};

// The kinds that Kueue can manage, sorted. check_frameworks checks which kinds muster queues.
std::vector<Framework> known_frameworks() {
  std::vector<Framework> known = {{"batch/job", "Job.v1.batch", true},
                                  {"jobset.x-k8s.io/jobset", "JobSet.v1alpha2.jobset.x-k8s.io", true}};
  for (const UnqueuedKind& kind : unqueued_kinds()) {
    if (kind.framework.empty()) continue;
    known.push_back({std::string(kind.framework),
                     std::string(kind.kind) + "." + std::string(kind.version) + "." + std::string(kind.group),
                     kind.has_multikueue_adapter});
  }
  std::sort(known.begin(), known.end(), [](const Framework& a, const Framework& b) { return a.name < b.name; });
  return known;
}

std::vector<std::string> framework_names() {
  std::vector<std::string> names;
  for (Framework& framework : known_frameworks()) names.push_back(std::move(framework.name));
  return names;
}

// "Kind.version.group.com": at least two dots.
bool is_kind_version_group(std::string_view text) {
  return std::count(text.begin(), text.end(), '.') >= 2;
}

// The kinds that Kueue sends to other clusters without a description, as externalFrameworks would name them.
std::set<std::string> kinds_with_multikueue_adapter(const json& enabled) {
  std::set<std::string> kinds;
  for (const Framework& framework : known_frameworks()) {
    if (framework.has_multikueue_adapter && std::find(enabled.begin(), enabled.end(), framework.name) != enabled.end())
      kinds.insert(framework.kind);
  }
  return kinds;
}

void validate_external_multikueue_frameworks(const json& multi, const json& enabled, FieldErrors& errors) {
  const std::set<std::string> with_adapter = kinds_with_multikueue_adapter(enabled);
  std::set<std::string> seen;
  const json& frameworks = array_at(multi, {"externalFrameworks"});
  for (size_t i = 0; i < frameworks.size(); ++i) {
    const std::string field = FieldPath("multiKueue").child("externalFrameworks").index(i).child("name");
    const auto& name = frameworks[i].at("name").get_ref<const std::string&>();
    if (!is_kind_version_group(name)) {
      errors.push_back(invalid(field, name, "must be in 'kind.version.group' format"));
      continue;
    }
    if (!seen.insert(name).second) errors.push_back(duplicate(field, name));
    if (with_adapter.contains(name))
      errors.push_back(invalid(field, name, "conflicts with a built-in MultiKueue adapter"));
  }
}

void check_access_provider(const json& provider, const FieldPath& path, FieldErrors& errors) {
  const FieldPath exec_path = path.child("execConfig");
  const json& exec = provider.at("execConfig");
  if (string_at(provider, {"name"}).empty()) errors.push_back(required(path.child("name"), "must be specified"));
  for (const char* field : {"command", "apiVersion"}) {
    if (string_at(exec, {field}).empty()) errors.push_back(required(exec_path.child(field), "must be specified"));
  }
  for (const json& variable : array_at(exec, {"env"})) {
    if (!string_at(variable, {"name"}).empty()) continue;
    errors.push_back(required(exec_path.child("env").child("name"), "must be specified"));
  }
  const std::string mode(string_at(exec, {"interactiveMode"}));
  if (mode.empty()) {
    errors.push_back(required(exec_path.child("interactiveMode"), "must be specified"));
  } else if (mode != "Never" && mode != "IfAvailable" && mode != "Always") {
    errors.push_back(not_supported(exec_path.child("interactiveMode"), mode, {"Always", "IfAvailable", "Never"}));
  }
}

void validate_cluster_profile(const json& multi, FieldErrors& errors) {
  const json& providers = array_at(multi, {"clusterProfile", "accessProviders"});
  const json& deprecated = array_at(multi, {"clusterProfile", "credentialsProviders"});
  const FieldPath path = FieldPath("multiKueue").child("clusterProfile");
  if (!providers.empty() && !deprecated.empty()) {
    errors.push_back(
        forbidden(path.child("credentialsProviders"), "must not be specified when accessProviders is specified"));
  }
  const char* used = providers.empty() ? "credentialsProviders" : "accessProviders";
  for (const json& provider : providers.empty() ? deprecated : providers) {
    check_access_provider(provider, path.child(used), errors);
  }
}

}  // namespace

void validate_managed_namespaces(const json& configuration, FieldErrors& errors) {
  constexpr const char* kField = "managedJobsNamespaceSelector";
  const json& selector = configuration.at(kField);
  append(errors, check_label_selector(FieldPath(kField), selector));
  const Result<LabelSelector> parsed = LabelSelector::parse(selector);
  if (!parsed) return;
  for (const std::string& name : {std::string("kube-system"), configuration.at("namespace").get<std::string>()}) {
    if (name.empty() || !parsed->matches({{"kubernetes.io/metadata.name", name}})) continue;
    errors.push_back(invalid_setting(kField, selector, "should not match the \"" + name + "\" namespace"));
  }
}

void validate_local_queue_metrics(const json& configuration, const FeatureGates& gates, FieldErrors& errors) {
  if (!gates.enabled(Gate::kLocalQueueMetrics) || !bool_at(configuration, {"metrics", "localQueueMetrics", "enable"}))
    return;
  const json* selector = find_path(configuration, {"metrics", "localQueueMetrics", "localQueueSelector"});
  if (selector != nullptr)
    append(errors, check_label_selector(FieldPath("metrics").child("localQueueMetrics").child("localQueueSelector"),
                                        *selector));
}

void validate_integrations(const json& configuration, FieldErrors& errors) {
  const FieldPath path("integrations");
  std::set<std::string> seen;
  const std::vector<Framework> all = known_frameworks();
  const json& frameworks = array_at(configuration, {"integrations", "frameworks"});
  for (size_t i = 0; i < frameworks.size(); ++i) {
    const auto& name = frameworks[i].get_ref<const std::string&>();
    const auto known =
        std::find_if(all.begin(), all.end(), [&](const Framework& framework) { return framework.name == name; });
    if (known == all.end()) {
      errors.push_back(not_supported(path.child("frameworks").index(i), name, framework_names()));
    } else if (!seen.emplace(known->kind).second) {
      errors.push_back(duplicate(path.child("frameworks").index(i), name));
    }
  }
  const json& external = array_at(configuration, {"integrations", "externalFrameworks"});
  for (size_t i = 0; i < external.size(); ++i) {
    const auto& name = external[i].get_ref<const std::string&>();
    if (!is_kind_version_group(name)) {
      errors.push_back(
          invalid(path.child("externalFrameworks").index(i), name, "must be format, 'Kind.version.group.com'"));
    } else if (!seen.insert(name).second) {
      errors.push_back(duplicate(path.child("externalFrameworks").index(i), name));
    }
  }
  // Managing pods needs the selector too, so Kueue reports its errors once more; tools that compare the lists
  // would miss them otherwise.
  if (std::find(frameworks.begin(), frameworks.end(), "pod") != frameworks.end())
    validate_managed_namespaces(configuration, errors);
}

void validate_multikueue(const json& configuration, FieldErrors& errors) {
  const json& multi = configuration.at("multiKueue");
  for (const char* field : {"gcInterval", "workerLostTimeout"}) {
    // Always valid: the decoder made the text.
    const Result<Duration> value = parse_duration(multi.at(field).get_ref<const std::string&>());
    if (!value || value->count() >= 0) continue;
    errors.push_back(
        invalid(FieldPath("multiKueue").child(field), value->count(), "must be greater than or equal to 0"));
  }
  const auto& origin = multi.at("origin").get_ref<const std::string&>();
  const auto complaints = is_valid_label_value(origin);
  if (!complaints.empty()) errors.push_back(invalid("multiKueue.origin", origin, join(complaints, ",")));
  validate_external_multikueue_frameworks(multi, array_at(configuration, {"integrations", "frameworks"}), errors);
  validate_cluster_profile(multi, errors);

  const auto incremental = multi.find("incrementalDispatcherConfig");
  if (incremental == multi.end()) return;
  if (multi.at("dispatcherName") != "kueue.x-k8s.io/multikueue-dispatcher-incremental") {
    errors.push_back(
        invalid_setting("multiKueue.incrementalDispatcherConfig", *incremental,
                        "incrementalDispatcherConfig is only valid when dispatcherName is set to the incremental "
                        "dispatcher"));
  }
  const auto step = incremental->find("stepSize");
  if (step != incremental->end() && *step < 1) {
    errors.push_back(
        invalid("multiKueue.incrementalDispatcherConfig.stepSize", *step, "must be greater than or equal to 1"));
  }
}

}  // namespace muster
