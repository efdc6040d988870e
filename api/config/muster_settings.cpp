#include "api/config/muster_settings.h"

#include <algorithm>

#include "api/config/muster_setting_values.h"
#include "api/meta/time.h"

namespace muster {
namespace {

using namespace setting_values;
using M = MusterConfiguration;

constexpr Duration kShortestCertificate = std::chrono::seconds(5);
// Each has a thread.
constexpr int kMostConcurrentWrites = 512;

constexpr Words<SuspendGuard, 2> kSuspendGuards{
    "must be enforce (reject) or observe (let through, with a warning)",
    {{"enforce", SuspendGuard::kEnforce}, {"observe", SuspendGuard::kObserve}}};
constexpr Words<LogFormat, 2> kLogFormats{"must be json or text",
                                          {{"json", LogFormat::kJson}, {"text", LogFormat::kText}}};
constexpr Words<JobSetController, 3> kJobSetControllers{
    "must be auto (found out at start), native (muster runs JobSets) or external (JobSet's own controller does)",
    {{"auto", JobSetController::kAuto},
     {"native", JobSetController::kNative},
     {"external", JobSetController::kExternal}}};
constexpr Words<UnqueuedKinds, 2> kUnqueuedKinds{"must be Warn or Deny",
                                                 {{"Warn", UnqueuedKinds::kWarn}, {"Deny", UnqueuedKinds::kDeny}}};
constexpr std::string_view kUserNames = "user names", kCertificateNames = "names in certificates";

Result<std::string> parse_image(std::string_view text) {
  if (text.empty()) return fail("must not be empty; leave the flag out to have the default");
  if (text.find_first_of(" \t\r\n") != std::string_view::npos)
    return fail("must be the name of a container image, without white space");
  return std::string(text);
}

Result<std::string> parse_file_name(std::string_view text) {
  if (text.empty()) return fail("must not be empty; leave the flag out to have the default");
  return std::string(text);
}

Result<Duration> parse_lifetime(std::string_view text) {
  const Result<Duration> parsed = parse_duration(text);
  if (!parsed) return fail(parsed.error().message + "; write a duration such as 2160h");
  if (*parsed < kShortestCertificate) return fail("must be at least " + format_duration(kShortestCertificate));
  return *parsed;
}

Result<Duration> parse_limit_timeout(std::string_view text) {
  const Result<Duration> parsed = parse_duration(text);
  if (!parsed) return fail(parsed.error().message + "; write a duration such as 24h");
  if (*parsed <= Duration::zero()) return fail("must be longer than 0s; leave it out to have no such limit");
  return *parsed;
}

constexpr MusterSetting kSettings[] = {
    {.name = "suspendGuard",
     .flag = "--suspend-guard",
     .value = word<&M::suspend_guard, kSuspendGuards>(),
     .help = "enforce or observe",
     .page = "Ways around the queues: starting a queued Job, or a Job of a queued JobSet, by hand before it is "
             "admitted; letting it grow while it runs with quota; giving it a controller; making Jobs of a queued "
             "JobSet. `enforce` rejects these, `observe` lets them through with a warning, and muster stops them when "
             "it sees them."},
    {.name = "admitters",
     .flag = "--admitters",
     .value = list<&M::admitters, kUserNames, FlagOfList::kAdds>(),
     .help = "Users that can unsuspend queued Jobs, in addition to the users in the file",
     .unset = "none",
     .page =
         "User names that can do so, beside muster's own service account, and beside JobSet's controller where it "
         "is not muster: the service account `jobset-controller-manager` of the namespace that the webhook "
         "configuration `jobset-validating-webhook-configuration` names when muster starts. JobSet's controller can "
         "unsuspend only Jobs that are parts of a queued job. If a person runs muster outside a cluster as the "
         "JobSet controller and sets admitters, this person is an admitter too. The flag adds to the list of the "
         "file."},
    {.name = "waiterImage",
     .flag = "--waiter-image",
     .value = text<&M::waiter_image, parse_image>(),
     .help = "Image of the start barrier's init container",
     .unset = "muster's own image",
     .page = "Image of the start barrier's init container. An image whose repository is named as muster's own (a copy "
             "in your registry, say) runs muster's static waiter; any other must have a shell."},
    {.name = "logFormat",
     .flag = "--log-format",
     .value = word<&M::log_format, kLogFormats>(),
     .help = "json or text",
     .unset = "`text` on a terminal, else `json`",
     .page = "`json`, or `text` for people."},
    {.name = "certificateLifetime",
     .flag = "--certificate-lifetime",
     .value = text<&M::certificate_lifetime, parse_lifetime>(),
     .help = "Lifetime of the certificates that muster issues",
     .page = "Life of the serving certificate that muster makes, at least `5s`. It is renewed when 2/3 of it have "
             "passed."},
    {.name = "jobSetFeatureGates",
     .flag = "--jobset-feature-gates",
     .value = jobset_gates<&M::jobset_feature_gates>(),
     .help = "JobSet's feature gates, as ElasticJobSet=true",
     .unset = "all off",
     .page =
         "JobSet's feature gates, where muster itself is the JobSet controller: `ElasticJobSet: true` lets "
         "parallelism and completions of a running JobSet change. `RestartJob: true` allows the failure policy "
         "actions `RestartJob` and `RestartJobAndIgnoreMaxRestarts`, and each Job and pod has the label "
         "`jobset.sigs.k8s.io/job-restart-attempt`. `InPlaceRestart: true` allows the restart strategy "
         "`InPlaceRestart` ([in-place restart](in-place-restart.md)). `JobSetActiveDeadlineSeconds: true` allows "
         "`spec.activeDeadlineSeconds` and keeps `status.startTime`. `ExecutionAttemptsTracking: true` counts the "
         "runs of a JobSet in `status.executionAttempts` and in the annotation "
         "`jobset.sigs.k8s.io/execution-attempt` of Jobs and pods. `MutablePodResourcesForSuspendedJobSets: true` lets "
         "requests and limits of a suspended JobSet change: quota is asked for them again, and Jobs with the old "
         "ones are made again when the JobSet starts. `TLSOptions` is stable, and cannot be off."},
    {.name = "jobSetController",
     .flag = "--jobset-controller",
     .value = word<&M::jobset_controller, kJobSetControllers>(),
     .help = "auto, native (muster runs JobSets) or external (JobSet's own controller does)",
     .fits_manifests = true,
     .page = "The controller of JobSets. `native`: muster. `external`: JobSet's own controller; muster only starts "
             "groups. `auto`: muster detects it at start; native if the cluster has no JobSet CRD or only muster's. "
             "Native is refused while another controller is alive."},
    {.name = "patchJobSetDefinition",
     .flag = "--patch-jobset-definition",
     .value = toggle<&M::patch_jobset_definition>(),
     .help = "Keep groupSchedulingConfig in the CRD of another JobSet controller",
     .off_help = "Do not change that CRD; groups are requested by annotation",
     .fits_manifests = true,
     .page = "Beside JobSet's own controller: keep `spec.groupSchedulingConfig` in the CRD that it brought, and put it "
             "back after a reinstall. `false`: groups are asked for by annotation alone."},
    {.name = "backoffLimitTimeout",
     .flag = "--backoff-limit-timeout",
     .value = text<&M::backoff_limit_timeout, parse_limit_timeout>(),
     .help = "Deactivate a Workload whose pods are not ready this long after its first admission, for example 24h",
     .unset = "no limit",
     .page = "Deactivates a Workload whose pods were not ready in time, this long after its first admission. "
             "`backoffLimitCount` is a second limit; the first limit that is reached counts."},
    {.name = "longestGracePeriod",
     .flag = "--longest-grace-period",
     .value = text<&M::longest_grace_period, parse_limit_timeout>(),
     .help = "Release the quota of a stopped job at this time of its pods' grace period, for example 10m",
     .unset = "no limit",
     .page =
         "Pods that are deleted keep the quota of their job until they end, at most for their "
         "`terminationGracePeriodSeconds` and five minutes, in case their Node is gone. This setting counts no more "
         "of the grace period. A Warning event `PodsOverstay` at the job says that pods run longer than their "
         "quota."},
    {.name = "backoffJitter",
     .flag = "--backoff-jitter",
     .value = share<&M::backoff_jitter>(),
     .help = "Extra delay before a retry, as a fraction of the backoff",
     .page = "Extra delay before the next attempt, as a fraction of the delay from `0` to `1`. It depends on the "
             "Workload's uid, so that Workloads that were late together are not requeued together."},
    {.name = "concurrentWrites",
     .flag = "--concurrent-writes",
     .value = count<&M::concurrent_writes, kMostConcurrentWrites>(),
     .help = "Writes that can be on their way to the API server at once, 1 to 512",
     .page =
         "How many writes can be on their way to the API server at once, from `1` to `512`. With answers that take a "
         "second, `32` gives at most 32 writes a second: raise it for an API server that is far away. It does not "
         "help where the API server has too many requests; see "
         "[the runbook](runbooks.md#musterapiwritesthrottled)."},
    {.name = "groupScheduling",
     .flag = "--group-scheduling",
     .value = toggle<&M::group_scheduling>(),
     .help = "Jobs can start as a group",
     .off_help = "Reject jobs that ask for it; then muster needs no permission on pods and ConfigMaps",
     .fits_manifests = true,
     .page = "Jobs and JobSets can start as a group. `false`: jobs that request it are rejected, and muster needs no "
             "permission on pods and ConfigMaps (`muster manifests --no-group-scheduling`). Gangs that are waiting "
             "when you turn it off fail 120 s after their own deadline."},
    {.name = "webhookClientCAFile",
     .flag = "--webhook-client-ca",
     .value = text<&M::webhook_client_ca_file, parse_file_name>(),
     .help = "Answer reviews only to clients with a certificate of an authority in this file (PEM)",
     .unset = "none; muster answers the reviews of every client that reaches the port",
     .argument = "FILE",
     .page = "Reviews are answered only to clients with a certificate that an authority in this file (PEM) has signed: "
             "see [Client certificates](#client-certificates)."},
    {.name = "webhookClientNames",
     .flag = "--webhook-client-names",
     .value = list<&M::webhook_client_names, kCertificateNames, FlagOfList::kReplaces>(),
     .help = "Accepted common names or DNS names of such a certificate",
     .unset = "every certificate that the authority has signed",
     .page = "Accepted names: the common name or one DNS name of the certificate must be exactly equal to an entry. "
             "Only with `webhookClientCAFile`."},
    {.name = "metricsCertDir",
     .flag = "--metrics-cert-dir",
     .value = text<&M::metrics_cert_dir, parse_file_name>(),
     .help = "Serve the metrics with the tls.crt and tls.key in this folder",
     .unset = "the certificate of the webhooks",
     .argument = "DIR",
     .page =
         "The port of the metrics has its own certificate: `tls.crt` and `tls.key` in this folder, from cert-manager "
         "or another program, read again when they change. JobSet's configuration has it as `metrics.certDir`. Until "
         "the files are there, no client can connect to the port; muster logs why."},
    {.name = "unqueuedKinds",
     .flag = "--unqueued-kinds",
     .value = word<&M::unqueued_kinds, kUnqueuedKinds>(),
     .help = "Warn or Deny: objects that ask for a queue and are of a kind that muster does not queue",
     .unset = "as the admission policy in the cluster says; it is shipped with `Warn`",
     .fits_manifests = true,
     .page = "What happens to an object that asks for a queue and is of a kind that muster does not queue: `Warn` or "
             "`Deny`. See [Kinds that are not queued](#kinds-that-are-not-queued)."},
    {.name = "aggregatedVisibility",
     .flag = "--aggregated-visibility",
     .value = toggle<&M::aggregated_visibility>(),
     .help = "Answer Kueue's visibility API at the API server's own paths (docs/visibility.md)",
     .off_help = "At muster's own port alone",
     .fits_manifests = true,
     .page = "Kueue's visibility API is answered at the API server's own paths too, for `kubectl get --raw` and "
             "kueuectl: see [visibility.md](visibility.md), first of all the effects while muster is down."},
    {.name = "dashboard",
     .flag = "--dashboard",
     .value = toggle<&M::dashboard>(),
     .help = "Serve the dashboard's page at the port of the metrics, for a proxy with login (docs/dashboard.md)",
     .off_help = "Do not serve it",
     .page =
         "The [dashboard](dashboard.md#served-by-muster-behind-a-proxy-with-login)'s page is served at the port of the "
         "metrics, below `/dashboard/`, for installations with a proxy with login. It takes users' tokens for the "
         "API server."},
    {.name = "podReasons",
     .flag = "--pod-reasons",
     .value = toggle<&M::pod_reasons>(),
     .help = "Say in an eviction by waitForPodsReady or flavor fallback why the pods were late",
     .off_help = "Read no pods and Events for it; muster then needs no right to list Events",
     .fits_manifests = true,
     .page =
         "Shortly before a job is evicted for late pods, by `waitForPodsReady` or by the timeout of a flavor "
         "([flavor fallback](flavor-fallback.md)), the leader lists its pods and, where they do not say it, the "
         "Warning Events of its namespace, once for each attempt. The reason is in the message of the eviction, so in "
         "`explain`, in lists and in the history, and in an Event of the job. Otherwise muster reads no Events, and "
         "needs no right to: see [explain.md](explain.md#why-pods-are-late)."},
    {.name = "recordSubmitter",
     .flag = "--record-submitter",
     .value = toggle<&M::record_submitter>(),
     .help = "Write the name of the user who submits a job on the job and its Workload, for get jobs --mine",
     .off_help = "Do not record submitters",
     .page =
         "The webhook writes the name of the user who submits a job into the annotation `muster.batch/submitter` of "
         "the job, and muster copies it to the Workload: see [Submitters](#submitters)."},
    {.name = "watchNodes",
     .flag = "--watch-nodes",
     .value = toggle<&M::watch_nodes>(),
     .help = "Know the nodes and their pods, for flavors that admit only what fits on nodes (docs/nodes.md)",
     .off_help = "Do not watch them; such flavors admit nothing",
     .fits_manifests = true,
     .page = "muster watches the nodes of the cluster and all pods on them, for ResourceFlavors with the annotation "
             "`muster.batch/fit-on-nodes`: they admit a job only when all of its pods have room. muster then needs the "
             "right to list and watch nodes and pods. Without the setting such a flavor admits nothing, and says so. "
             "See [nodes.md](nodes.md)."},
};

}  // namespace

std::span<const MusterSetting> muster_settings() {
  return kSettings;
}

const MusterSetting* find_muster_setting(std::string_view name) {
  const auto* found = std::find_if(std::begin(kSettings), std::end(kSettings),
                                   [&](const MusterSetting& setting) { return setting.name == name; });
  return found == std::end(kSettings) ? nullptr : found;
}

std::string default_of(const MusterSetting& setting) {
  const std::string value = setting.value.show(MusterConfiguration{});
  return value.empty() ? std::string(setting.unset) : "`" + value + "`";
}

std::string flag_of(const MusterSetting& setting, bool on) {
  return on ? std::string(setting.flag) : "--no-" + std::string(setting.flag.substr(2));
}

Outcome<> apply_settings(const GivenSettings& given, MusterConfiguration& into) {
  for (const auto& [name, texts] : given) {
    const MusterSetting* setting = find_muster_setting(name);
    if (setting == nullptr) return fail("there is no setting " + name);
    if (auto done = setting->value.set(texts, into); !done)
      return fail(std::string(setting->flag) + ": " + done.error().message);
  }
  return Done{};
}

std::vector<std::string> arguments_of(const GivenSettings& given) {
  std::vector<std::string> arguments;
  for (const MusterSetting& setting : kSettings) {
    const auto found = given.find(setting.name);
    if (found == given.end()) continue;
    for (const std::string& text : found->second) {
      const bool is_switch = setting.value.form == SettingForm::kSwitch;
      arguments.push_back(is_switch ? flag_of(setting, text == "true") : std::string(setting.flag) + "=" + text);
    }
  }
  return arguments;
}

}  // namespace muster
