#include "api/config/configuration.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "api/config/configuration_decode.h"
#include "api/config/configuration_defaults.h"
#include "api/config/jobset_configuration.h"
#include "api/meta/time.h"

namespace muster {

namespace {

using nlohmann::json;

constexpr std::string_view kGroup = "config.kueue.x-k8s.io";
constexpr std::string_view kKind = "Configuration";

// Each costs a watch.
constexpr size_t kMostOwnKinds = 20;

using LoadError = Failure<ConfigurationError>;
LoadError refuse(std::string message, std::string hint = "") {
  return fail_with(ConfigurationError{std::move(message), std::move(hint)});
}

bool is_muster_document(const json& document) {
  return string_at(document, {"kind"}) == kMusterConfigurationKind &&
         string_at(document, {"apiVersion"}) == kMusterConfigurationApiVersion;
}

// The version of a document. Without apiVersion it is v1beta2, without kind a Configuration: Kueue's decoder
// knows the expected type.
Result<ConfigVersion, ConfigurationError> version_of(const json& document) {
  for (const char* field : {"apiVersion", "kind"}) {
    const json* value = find_path(document, {field});
    if (value == nullptr || value->is_string() || value->is_null()) continue;
    return refuse("couldn't get version/kind; json parse error: json: cannot unmarshal " +
                  std::string(value->is_boolean() ? "bool" : value->type_name()) + " into Go struct field ." + field +
                  " of type string");
  }
  const std::string api_version(string_at(document, {"apiVersion"}));
  const std::string kind(string_at(document, {"kind"}));
  const std::string used = api_version.empty() ? std::string(kGroup) + "/v1beta2" : api_version;
  const bool kueue = kind.empty() || kind == kKind;
  if (kueue && used == std::string(kGroup) + "/v1beta2") return ConfigVersion::kV1beta2;
  if (kueue && used == std::string(kGroup) + "/v1beta1") return ConfigVersion::kV1beta1;
  return refuse("no kind \"" + (kind.empty() ? std::string(kKind) : kind) + "\" is registered for version \"" + used +
                    "\" in scheme \"" + std::string(kGroup) + "\"",
                "the file holds Kueue's Configuration (config.kueue.x-k8s.io/v1beta2 or v1beta1) and, in a document of "
                "its own, MusterConfiguration (" +
                    std::string(kMusterConfigurationApiVersion) + ")");
}

Duration duration_at(const json& value, std::string_view key) {
  const auto duration = parse_duration(string_at(value, {key}));
  return duration ? *duration : Duration{};
}

// The typed members from the effective form; the decoder has checked every type.
void fill_members(Configuration& c) {
  const json& e = c.effective;
  const auto text = [&](std::initializer_list<std::string_view> keys) { return std::string(string_at(e, keys)); };
  c.namespace_ = text({"namespace"});
  c.webhook = {static_cast<int>(int_at(e, {"webhook", "port"}).value_or(0)), text({"webhook", "host"}),
               text({"webhook", "certDir"})};
  c.tls = {text({"tls", "minVersion"}), strings_at(e, {"tls", "cipherSuites"})};
  c.metrics_bind_address = text({"metrics", "bindAddress"});
  c.health_probe_bind_address = text({"health", "healthProbeBindAddress"});
  c.cert_management = {bool_at(e, {"internalCertManagement", "enable"}),
                       text({"internalCertManagement", "webhookServiceName"}),
                       text({"internalCertManagement", "webhookSecretName"})};
  c.visibility_server = {text({"visibilityServer", "bindAddress"}),
                         static_cast<int>(int_at(e, {"visibilityServer", "bindPort"}).value_or(8082))};
  c.client_connection = {e.at("clientConnection").at("qps").get<double>(),
                         static_cast<int>(int_at(e, {"clientConnection", "burst"}).value_or(0))};
  const json& election = object_at(e, {"leaderElection"});
  c.leader_election = {.leader_elect = bool_at(election, {"leaderElect"}),
                       .lease_duration = duration_at(election, "leaseDuration"),
                       .renew_deadline = duration_at(election, "renewDeadline"),
                       .retry_period = duration_at(election, "retryPeriod"),
                       .resource_lock = std::string(string_at(election, {"resourceLock"})),
                       .resource_name = std::string(string_at(election, {"resourceName"})),
                       .resource_namespace = std::string(string_at(election, {"resourceNamespace"}))};
  c.manage_jobs_without_queue_name = bool_at(e, {"manageJobsWithoutQueueName"});
  // A selector that cannot be read matches no object; validate_configuration reports its error.
  const auto selector = LabelSelector::parse(e.at("managedJobsNamespaceSelector"));
  c.managed_jobs_namespace_selector = selector ? *selector : LabelSelector();
  c.frameworks = strings_at(e, {"integrations", "frameworks"});
  c.external_frameworks = strings_at(e, {"integrations", "externalFrameworks"});
  const json* gates = find_path(e, {"featureGates"});
  if (gates != nullptr) c.feature_gates = gates->get<FeatureGateMap>();
}

Result<Configuration, ConfigurationError> read_kueue(const json& document, std::string_view operator_namespace) {
  const Result<ConfigVersion, ConfigurationError> version = version_of(document);
  if (!version) return fail_with(version.error());
  DecodedConfiguration decoded = decode_configuration(document, *version);
  if (!decoded.type_error.empty()) return refuse(std::move(decoded.type_error));
  if (!decoded.unknown_fields.empty()) {
    std::string message = "strict decoding error: ";
    for (const std::string& unknown : decoded.unknown_fields) {
      message += (&unknown == &decoded.unknown_fields.front() ? "" : ", ") + unknown;
    }
    return refuse(std::move(message), std::move(decoded.hint));
  }
  Configuration configuration;
  configuration.version = *version;
  configuration.set_in_file = std::move(decoded.set);
  configuration.effective = std::move(decoded.value);
  const auto fill = *version == ConfigVersion::kV1beta1 ? convert_v1beta1 : apply_v1beta2_defaults;
  fill(configuration.effective, operator_namespace);
  fill_members(configuration);
  return configuration;
}

bool is_kueue_document(const json& document) {
  return string_at(document, {"kind"}) == kKind &&
         string_at(document, {"apiVersion"}).starts_with(std::string(kGroup) + "/");
}

std::string at_line(const YamlDocument& document) {
  return "the document at line " + std::to_string(document.line);
}

bool is_job_kind(const json& document) {
  return string_at(document, {"kind"}) == kJobKindKind && string_at(document, {"apiVersion"}) == kJobKindApiVersion;
}

std::string text_of(const FieldErrors& errors) {
  std::string text;
  for (const FieldError& error : errors) text += (text.empty() ? "" : "; ") + error.text();
  return text;
}

std::optional<ConfigurationError> read_job_kind(const YamlDocument& document, LoadedConfiguration& into) {
  if (into.kinds.size() == kMostOwnKinds)
    return ConfigurationError{at_line(document) + " is one JobKind too many",
                              "a file describes at most " + std::to_string(kMostOwnKinds)};
  auto kind = read_kind_description(document.value);
  if (kind) {
    into.kinds.push_back(*std::move(kind));
    return std::nullopt;
  }
  return ConfigurationError{"JobKind in " + at_line(document) + ": " + text_of(kind.error()),
                            "docs/kinds.md lists the fields"};
}

// What is there of which there can be one.
struct Seen {
  bool muster = false;
  std::optional<JobSetConfiguration> jobset{};
};

std::optional<ConfigurationError> read_jobset(const YamlDocument& document, Seen& seen, LoadedConfiguration& into) {
  if (seen.jobset)
    return ConfigurationError{at_line(document) + " is a second Configuration of JobSet", "keep one of them"};
  auto read = read_jobset_configuration(document.value);
  if (!read)
    return ConfigurationError{"JobSet's Configuration in " + at_line(document) + ": " + text_of(read.error()),
                              "docs/configuration.md says what muster reads of it"};
  seen.jobset = *std::move(read);
  if (std::string idle = seen.jobset->idle_settings(); !idle.empty()) into.warnings.push_back(std::move(idle));
  return std::nullopt;
}

// Everything after the first document.
std::optional<ConfigurationError> read_further(const YamlDocument& document, Seen& seen, LoadedConfiguration& into) {
  if (document.value.is_null()) return std::nullopt;
  if (is_jobset_configuration(document.value)) return read_jobset(document, seen, into);
  if (is_muster_document(document.value)) {
    if (std::exchange(seen.muster, true)) {
      return ConfigurationError{at_line(document) + " is a second MusterConfiguration", "keep one of them"};
    }
    Result<MusterConfiguration, FieldErrors> muster = decode_muster_configuration(document.value);
    if (muster) {
      into.muster = std::move(muster).value();
      return std::nullopt;
    }
    return ConfigurationError{"MusterConfiguration: " + text_of(muster.error()),
                              "docs/configuration.md lists the fields"};
  }
  if (is_job_kind(document.value)) return read_job_kind(document, into);
  const std::string kind(string_at(document.value, {"kind"}));
  const std::string api_version(string_at(document.value, {"apiVersion"}));
  if (is_kueue_document(document.value) || (kind.empty() && api_version.empty())) {
    into.warnings.push_back(at_line(document) +
                            " is ignored: as Kueue does, muster reads Kueue's Configuration from the first one only");
    return std::nullopt;
  }
  return ConfigurationError{at_line(document) + " is of kind " + (kind.empty() ? "(none)" : kind) + ", apiVersion " +
                                (api_version.empty() ? "(none)" : api_version) + ", which muster does not know",
                            "beside Kueue's Configuration a file may hold one MusterConfiguration of " +
                                std::string(kMusterConfigurationApiVersion) + ", JobSet's Configuration of " +
                                std::string(kJobSetConfigurationApiVersion) + ", and JobKinds of " +
                                std::string(kJobKindApiVersion)};
}

ConfigurationError unreadable(const YamlError& error) {
  const std::string line = std::to_string(error.line);
  if (!error.duplicate_key.empty()) {
    return {"strict decoding error: yaml: unmarshal errors:\n  line " + line + ": key \"" + error.duplicate_key +
                "\" already set in map",
            "keep one of them"};
  }
  return {"line " + line + ", column " + std::to_string(error.column) + ": " + error.message, ""};
}

}  // namespace

std::string ConfigurationError::text() const {
  return hint.empty() ? message : message + " (" + hint + ")";
}

Result<LoadedConfiguration, ConfigurationError> load_configuration(std::string_view yaml,
                                                                   std::string_view operator_namespace) {
  Result<std::vector<YamlDocument>, YamlError> documents = read_yaml(yaml);
  if (!documents) return fail_with(unreadable(documents.error()));
  LoadedConfiguration loaded = default_configuration(operator_namespace);
  Seen seen;
  size_t next = 0;
  const json none;
  const json& front = documents->empty() ? none : documents->front().value;
  const bool muster_first = is_muster_document(front) || is_job_kind(front) || is_jobset_configuration(front);
  if (!muster_first) {
    const json first = documents->empty() ? json(nullptr) : documents->front().value;
    if (!first.is_null() && !first.is_object()) {
      return refuse("the first document is no mapping",
                    "start it with apiVersion: " + std::string(kGroup) + "/v1beta2");
    }
    Result<Configuration, ConfigurationError> kueue =
        read_kueue(first.is_null() ? json::object() : first, operator_namespace);
    if (!kueue) return fail_with(kueue.error());
    loaded.kueue = std::move(kueue).value();
    next = 1;
  }
  for (size_t i = next; i < documents->size(); ++i) {
    if (muster_first && is_kueue_document((*documents)[i].value)) {
      return refuse(at_line((*documents)[i]) + " is Kueue's Configuration and not the first document",
                    "put it first: Kueue reads nothing else");
    }
    if (auto error = read_further((*documents)[i], seen, loaded)) return fail_with(std::move(*error));
  }
  // What MusterConfiguration says of a gate counts.
  if (seen.jobset)
    loaded.muster.jobset_feature_gates.insert(seen.jobset->feature_gates.begin(), seen.jobset->feature_gates.end());
  return loaded;
}

LoadedConfiguration default_configuration(std::string_view operator_namespace) {
  LoadedConfiguration loaded;
  Configuration& kueue = loaded.kueue;
  kueue.version = ConfigVersion::kV1beta1;
  kueue.effective = decode_configuration(json::object(), kueue.version).value;
  convert_v1beta1(kueue.effective, operator_namespace);
  kueue.effective["integrations"]["frameworks"] = json::array({"batch/job", "jobset.x-k8s.io/jobset"});
  fill_members(kueue);
  return loaded;
}

}  // namespace muster
