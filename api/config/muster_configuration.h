// muster's own settings: the document of kind MusterConfiguration in the file that
// --config names, beside Kueue's Configuration, which Kueue does not read. Each
// setting is a flag of `muster serve` too; the parse functions here serve both.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/feature_gates.h"
#include "api/config/rule_settings.h"
#include "api/meta/field_error.h"
#include "api/unqueued_kinds.h"
#include "base/clock.h"
#include "base/result.h"

namespace muster {

inline constexpr std::string_view kMusterConfigurationApiVersion = "config.muster.batch/v1alpha1";
inline constexpr std::string_view kMusterConfigurationKind = "MusterConfiguration";

enum class LogFormat { kJson, kText };

// Who is the JobSet controller: found out at start, muster, or somebody else.
enum class JobSetController { kAuto, kNative, kExternal };

struct MusterConfiguration {
  // May people unsuspend a Job that is queued and not admitted?
  SuspendGuard suspend_guard = SuspendGuard::kEnforce;
  // User names that may, beside muster's own service account.
  std::vector<std::string> admitters;
  // Image of the start barrier's init container; unset: muster's own.
  std::optional<std::string> waiter_image;
  // Unset: text on a terminal, JSON elsewhere.
  std::optional<LogFormat> log_format;
  // Life of the serving certificate that muster makes; it is renewed after 2/3 of it.
  Duration certificate_lifetime = std::chrono::hours(24 * 90);
  // A Workload whose pods were not ready in time gets no further try this long after its
  // first admission; unset: no such limit. Beside Kueue's backoffLimitCount (KEP-1282).
  std::optional<Duration> backoff_limit_timeout;
  // How far a delay before the next try may be stretched, as a share of it.
  double backoff_jitter = 0.1;
  JobSetController jobset_controller = JobSetController::kAuto;
  // Beside a foreign JobSet controller: keep spec.groupSchedulingConfig in its CRD. Off,
  // groups are asked for by annotation alone.
  bool patch_jobset_definition = true;
  // Jobs and JobSets may start as a group. Off, muster needs no right on pods and ConfigMaps.
  bool group_scheduling = true;
  // Reviews are answered only to clients with a certificate of an authority in this file (PEM);
  // unset: to all.
  std::optional<std::string> webhook_client_ca_file;
  // What such a certificate must be made out to, one of these; empty: whatever it is.
  std::vector<std::string> webhook_client_names;
  // JobSet's feature gates, where muster is the JobSet controller.
  FeatureGateMap jobset_feature_gates;
  // What happens to a request for a queue by a kind that muster does not queue; unset: what the
  // admission policy in the cluster says, which warns as it is shipped.
  std::optional<UnqueuedKinds> unqueued_kinds;
  // Kueue's visibility API is answered at the API server's own paths too (an APIService for each of its versions).
  bool aggregated_visibility = false;
  // The page of `muster dashboard` is at the port of the metrics, for those who put it behind their own proxy.
  bool dashboard = false;
};

// Settings as words: "enforce" or "observe"; "json" or "text"; "2160h", at least 5s.
// The errors say which words there are.
Result<SuspendGuard> parse_suspend_guard(std::string_view text);
// "auto", "native" or "external".
Result<JobSetController> parse_jobset_controller(std::string_view text);
Result<LogFormat> parse_log_format(std::string_view text);
Result<Duration> parse_certificate_lifetime(std::string_view text);
Result<Duration> parse_backoff_limit_timeout(std::string_view text);
// "0.1": from 0 to 1.
Result<double> parse_backoff_jitter(std::string_view text);
// "ElasticJobSet=true"; see check_jobset_feature_gates for what is refused.
Result<FeatureGateMap> parse_jobset_feature_gates(std::string_view text);

// Strictly: an unknown field, a wrong type or a bad value is an error, and all of
// them are reported. `document` is an object whose apiVersion and kind are right.
Result<MusterConfiguration, FieldErrors> decode_muster_configuration(const nlohmann::json& document);

}  // namespace muster
