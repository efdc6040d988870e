// The configuration file: Kueue's Configuration (config.kueue.x-k8s.io, v1beta1 or
// v1beta2), read as strictly as Kueue reads it, and muster's own MusterConfiguration
// in a document beside it.
//
// A file that starts Kueue starts muster. So every field that Kueue knows is known
// here, with its defaults and its checks; typed members exist for what muster acts
// on, the rest stays in `effective` until some code reads it, and
// not_acting_yet() names it at start-up, because a setting that silently does
// nothing is worse than an error.
//
// Pure: the caller reads the file, and the namespace of a service account, and passes them in. Sources: Kueue's
// configuration API; docs/configuration.md has the whole table.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/configuration_schema.h"
#include "api/config/feature_gates.h"
#include "api/config/muster_configuration.h"
#include "api/config/queue_settings.h"
#include "api/config/rule_settings.h"
#include "api/meta/field_error.h"
#include "base/result.h"
#include "kinds/kind_description.h"

namespace muster {

struct WebhookSettings {
  int port = 9443;
  std::string host;  // empty: all addresses
  // The directory of external certificates, with internalCertManagement off.
  std::string cert_dir;
};

struct TlsSettings {
  std::string min_version;                 // "VersionTLS12", "VersionTLS13"; empty: VersionTLS12
  std::vector<std::string> cipher_suites;  // IANA names, for TLS 1.2
};

struct CertManagementSettings {
  bool enable = true;  // muster makes its certificates itself
  std::string webhook_service_name;
  std::string webhook_secret_name;
};

// Where the visibility API listens for the API server, where it is aggregated.
struct VisibilityServerSettings {
  std::string bind_address;  // an IP address; empty: all addresses
  int bind_port = 8082;
};

struct ClientConnectionSettings {
  double qps = 1000;  // negative: no limit
  int burst = 1000;
};

struct LeaderElectionSettings {
  bool leader_elect = true;
  Duration lease_duration = std::chrono::seconds(15);
  Duration renew_deadline = std::chrono::seconds(10);
  Duration retry_period = std::chrono::seconds(2);
  std::string resource_lock = "leases";  // the only one there is
  std::string resource_name{};
  std::string resource_namespace{};  // empty: muster's own
};

struct Configuration {
  // The version that the file is written in; without a file, or for an empty one,
  // the version whose defaults hold.
  ConfigVersion version = ConfigVersion::kV1beta2;

  std::string namespace_;
  WebhookSettings webhook;
  TlsSettings tls;
  std::string metrics_bind_address;       // "0" or empty: not served
  std::string health_probe_bind_address;  // "0" or empty: not served
  CertManagementSettings cert_management;
  VisibilityServerSettings visibility_server;
  ClientConnectionSettings client_connection;
  LeaderElectionSettings leader_election;
  bool manage_jobs_without_queue_name = false;
  LabelSelector managed_jobs_namespace_selector;
  std::vector<std::string> frameworks;
  std::vector<std::string> external_frameworks;  // "Kind.version.group"
  std::optional<FeatureGateMap> feature_gates;   // of the file or the flag; nullopt: not set

  // The whole configuration in its v1beta2 form, defaults filled in.
  nlohmann::json effective;
  // Paths of what the file itself says, alphabetical.
  std::vector<std::string> set_in_file;
};

// Why a file cannot be used at all. The message is Kueue's own where Kueue would
// fail too; the hint, when there is one, says what to do.
struct ConfigurationError {
  std::string message;
  std::string hint;

  // "message (hint)".
  std::string text() const;
};

struct LoadedConfiguration {
  Configuration kueue;
  MusterConfiguration muster;
  // Documents of kind JobKind: kinds of job that an administrator describes, all of them enabled.
  std::vector<KindDescriptionPtr> kinds;
  // Unused parts of the file: documents that Kueue ignores.
  std::vector<std::string> warnings;
};

// Reads the text of a configuration file. An empty file is v1beta2 with all defaults.
// `operator_namespace` is where muster runs, the default of `namespace`.
Result<LoadedConfiguration, ConfigurationError> load_configuration(
    std::string_view yaml, std::string_view operator_namespace = "kueue-system");

// Without a file: the seeds' defaults, where waiting for ready pods is off until it is
// asked for, with Jobs and JobSets managed.
LoadedConfiguration default_configuration(std::string_view operator_namespace = "kueue-system");

// Everything that is wrong with the values, sorted by text; worded as Kueue words it.
FieldErrors validate_configuration(const Configuration& configuration);

// On unless v1beta1 left it off or the gate DisableWaitForPodsReady turned it off.
bool wait_for_pods_ready_enabled(const Configuration& configuration);

// The gate VisibilityOnDemand: is there a visibility API at all?
bool visibility_on_demand_enabled(const Configuration& configuration);
// Whether it is aggregated is muster's own setting, which must agree with the gate. Errors, and for a Kueue's setting
// that has no effect then a sentence in `warnings`.
FieldErrors check_visibility(const LoadedConfiguration& configuration, std::vector<std::string>& warnings);

// Checks the gates of the file and the text of --feature-gates (empty: not given),
// which exclude each other. When all is well the configuration has the gates of the
// one that spoke.
FieldErrors apply_feature_gates(Configuration& configuration, std::string_view flag);

// Settings of the file, and gates, that no code of muster reads yet. outdated_gates() reports gates that are locked,
// renamed or removed.
std::vector<std::string> not_acting_yet(const Configuration& configuration);
// Feature gates that are set to true although muster only validates what belongs to them. Set to
// false they do all that they can: the checks are off, and the feature is not there.
std::vector<std::string> only_validating(const Configuration& configuration);

// Kinds that have a queue although they are in the table of those that muster does not know (kinds/unqueued_kinds.h),
// as "Kind.version.group": those of integrations.externalFrameworks, and described kinds whose integration is enabled.
std::set<std::string, std::less<>> kinds_with_queue(const Configuration& configuration);

// integrations.frameworks against the kinds that muster queues (`queued`, by Kueue's names).
struct FrameworkCheck {
  // Names that Kueue does not know and that are similar to a known name; validate_configuration reports them as
  // errors.
  FieldErrors errors;
  // One sentence that names all kinds of Kueue that muster does not queue; empty: there is none.
  std::string warning;
};
FrameworkCheck check_frameworks(const Configuration& configuration, std::span<const std::string_view> queued);

// What rules need beside the two documents.
struct RuleContext {
  // The image that muster itself runs, or "muster:<version>" outside a cluster.
  std::string own_image;
  // User name of muster's own service account; empty outside a cluster.
  std::string own_user;
};

// The part that mutators and validators read. Both documents must have been found
// valid. A waiter image counts as muster's own when its repository is named as that of
// `own_image`, wherever it was copied to; any other waits by a shell loop.
RuleSettings make_rule_settings(const Configuration& configuration, const MusterConfiguration& muster,
                                const RuleContext& context);
// The part that the queues act on. Both documents must have been found valid.
QueueSettings make_queue_settings(const Configuration& configuration, const MusterConfiguration& muster,
                                  RuleSettings rules);

}  // namespace muster
