// muster's own settings: the document of kind MusterConfiguration in the file that
// --config names, beside Kueue's Configuration, which Kueue does not read. Each
// setting is a row of muster_settings.h too, from which come the reader of the file,
// the flags and the documentation. The initializers here are the defaults.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/config/feature_gates.h"
#include "api/config/queue_settings.h"
#include "api/config/rule_settings.h"
#include "api/meta/field_error.h"
#include "base/clock.h"
#include "base/result.h"
#include "kinds/unqueued_kinds.h"

namespace muster {

inline constexpr std::string_view kMusterConfigurationApiVersion = "config.muster.batch/v1alpha1";
inline constexpr std::string_view kMusterConfigurationKind = "MusterConfiguration";

enum class LogFormat { kJson, kText };

// The JobSet controller: detected at startup, muster, or another program.
enum class JobSetController { kAuto, kNative, kExternal };

struct MusterConfiguration {
  // Can people unsuspend a Job that is queued and not admitted?
  SuspendGuard suspend_guard = SuspendGuard::kEnforce;
  // User names that can, beside muster's own service account.
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
  // Quota waits no longer than this for deleted pods to end, and some minutes; unset: as long as their grace period.
  std::optional<Duration> longest_grace_period;
  // How far a delay before the next try can be stretched, as a share of it.
  double backoff_jitter = RequeuingStrategy{}.backoff_jitter;
  // How many writes can be on their way to the API server at once. It handles some hundred writes a second: while it
  // answers in time, more only wait there.
  int concurrent_writes = 32;
  JobSetController jobset_controller = JobSetController::kAuto;
  // Beside a foreign JobSet controller: keep spec.groupSchedulingConfig in its CRD. Off,
  // groups are asked for by annotation alone.
  bool patch_jobset_definition = true;
  // Jobs and JobSets can start as a group. Off, muster needs no right on pods and ConfigMaps.
  bool group_scheduling = true;
  // Reviews are answered only to clients with a certificate of an authority in this file (PEM);
  // unset: to all.
  std::optional<std::string> webhook_client_ca_file;
  // The allowed names of such a certificate; empty: any name.
  std::vector<std::string> webhook_client_names;
  // A folder with the certificate of the metrics' listener, which another program keeps; unset: that of the webhooks.
  std::optional<std::string> metrics_cert_dir;
  // JobSet's feature gates, where muster is the JobSet controller.
  FeatureGateMap jobset_feature_gates;
  // What happens to a request for a queue by a kind that muster does not queue; unset: what the
  // admission policy in the cluster says, which warns as it is shipped.
  std::optional<UnqueuedKinds> unqueued_kinds;
  // Kueue's visibility API is answered at the API server's own paths too (an APIService for each of its versions).
  bool aggregated_visibility = false;
  // The page of `muster dashboard` is served at the port of the metrics, for installations with their own proxy.
  bool dashboard = false;
  // An eviction by waitForPodsReady or by the timeout of a flavor says why the pods were late, for which the leader
  // reads pods and Events once before it.
  bool pod_reasons = true;
  // Nodes and the pods on them are watched, for flavors that count them (muster.batch/fit-on-nodes).
  bool watch_nodes = false;
  // The user who submits a job is written on the job and its Workload, for lists.
  bool record_submitter = false;

  bool operator==(const MusterConfiguration&) const = default;
};

// Strictly: an unknown field, a wrong type or a bad value is an error, and all of
// them are reported. `document` is an object whose apiVersion and kind are right.
Result<MusterConfiguration, FieldErrors> decode_muster_configuration(const nlohmann::json& document);

}  // namespace muster
