#include "commands/cli.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "api/time.h"
#include "commands/explain.h"
#include "commands/manifests.h"
#include "commands/review.h"
#include "commands/serve.h"
#include "commands/version.h"

namespace muster {
namespace {

// A check that accepts what one of our parse functions accepts, with its message.
template <class Parse>
CLI::Validator parsed_by(Parse parse) {
  return CLI::Validator(
      [parse](std::string& text) {
        auto value = parse(text);
        return value ? std::string() : value.error().message;
      },
      "");
}

// A flag of an earlier version: whoever still gives it is told what became of it.
void refuse_old_flag(CLI::App& command, const std::string& flag, const std::string& why) {
  command.add_flag_callback(flag, [flag, why] { throw CLI::ValidationError(flag, why); })->group("");
}

void add_settings_flags(CLI::App& command, SettingsFlags& flags) {
  command
      .add_option("--config", flags.config_file,
                  "Kueue's Configuration, and muster's own in a second document; see docs/configuration.md")
      ->type_name("FILE");
  command.add_option("--feature-gates", flags.feature_gates, "Kueue's feature gates, as A=true,B=false");
  refuse_old_flag(
      command, "--ignore-unsupported-frameworks",
      "was removed: muster starts whatever kinds of Kueue's integrations.frameworks names, and says which of "
      "them it does not queue; leave the flag out");
  command.add_option("--suspend-guard", flags.suspend_guard, "enforce or observe");
  command.add_option("--admitters", flags.admitters, "Users who may unsuspend queued Jobs")->delimiter(',');
  command.add_option("--jobset-controller", flags.jobset_controller,
                     "auto, native (muster runs JobSets) or external (JobSet's own controller does)");
  command.add_option("--jobset-feature-gates", flags.jobset_feature_gates,
                     "JobSet's feature gates, as ElasticJobSet=true");
  command.add_flag_callback(
      "--group-scheduling", [&flags] { flags.group_scheduling = true; }, "Jobs may start as a group (default)");
  command.add_flag_callback(
      "--no-group-scheduling", [&flags] { flags.group_scheduling = false; },
      "Reject jobs that ask for it; then muster needs no permission on pods and ConfigMaps");
  command.add_option("--waiter-image", flags.waiter_image, "Image of the start barrier's init container");
  command.add_option("--unqueued-kinds", flags.unqueued_kinds,
                     "Warn or Deny: objects that ask for a queue and are of a kind that muster does not queue");
}

void add_serve(CLI::App& app, ServeFlags& flags) {
  CLI::App& serve = *app.add_subcommand("serve", "Serve the webhooks, probes and metrics");
  add_settings_flags(serve, flags.settings);
  serve.add_option("--certificate-lifetime", flags.settings.certificate_lifetime,
                   "Lifetime of the certificates that muster issues, for example 2160h");
  serve.add_option(
      "--backoff-limit-timeout", flags.settings.backoff_limit_timeout,
      "Deactivate a Workload whose pods are not ready this long after its first admission, for example 24h");
  serve.add_option("--backoff-jitter", flags.settings.backoff_jitter,
                   "Extra delay before a retry, as a fraction of the backoff; default 0.1");
  serve.add_option("--kubeconfig", flags.kubeconfig, "Default: KUBECONFIG, the pod's account, ~/.kube/config");
  serve.add_option("--context", flags.context, "Context of the kubeconfig");
  serve.add_flag("--standalone", flags.standalone, "Serve without any cluster: rules see only the review");
  serve.add_option("--namespace", flags.own_namespace, "Where muster runs; default: the pod's, else muster-system");
  serve.add_option("--webhook-bind-address", flags.webhook_bind_address, "host:port; default :9443");
  serve.add_option("--health-probe-bind-address", flags.health_probe_bind_address, "host:port; default :8081; 0: off");
  serve.add_option("--metrics-bind-address", flags.metrics_bind_address, "host:port; default :8443; 0: off");
  serve.add_option(
      "--webhook-url", flags.webhook_url,
      "URL under which the API server reaches a muster outside the cluster, for example https://10.0.0.5:9443");
  serve.add_flag("--keep-webhook-configurations,!--no-keep-webhook-configurations", flags.keep_webhook_configurations,
                 "Keep muster's webhook configurations in line (default)");
  serve.add_flag_callback(
      "--patch-jobset-definition", [&flags] { flags.settings.patch_jobset_definition = true; },
      "Keep groupSchedulingConfig in the CRD of another JobSet controller (default)");
  serve.add_flag_callback(
      "--no-patch-jobset-definition", [&flags] { flags.settings.patch_jobset_definition = false; },
      "Do not change that CRD; groups are requested by annotation");
  serve.add_flag("--metrics-authorization,!--no-metrics-authorization", flags.metrics_authorization,
                 "Ask the API server who may read the metrics (default in a cluster)");
  serve
      .add_option("--webhook-client-ca", flags.settings.webhook_client_ca_file,
                  "Answer reviews only to clients with a certificate of an authority in this file (PEM)")
      ->type_name("FILE");
  serve
      .add_option("--webhook-client-names", flags.settings.webhook_client_names,
                  "Accepted common names or DNS names of such a certificate")
      ->delimiter(',');
  serve.add_option("--cert-dir", flags.cert_dir, "Directory of the certificates, where they are not in a Secret");
  serve.add_option("--workers", flags.workers, "Threads that answer reviews; default: one per core, at least 2")
      ->check(CLI::Range(1, 256))
      ->option_text("N");
  serve
      .add_option_function<std::string>(
          "--shutdown-delay", [&flags](const std::string& text) { flags.shutdown_delay = *parse_duration(text); },
          "How long muster serves after SIGTERM while it is not ready, for example 5s")
      ->check(parsed_by(parse_duration));
  serve
      .add_option_function<std::string>(
          "--log-format", [&flags](const std::string& text) { flags.log_format = *parse_log_format(text); },
          "json or text; default: text on a terminal")
      ->check(parsed_by(parse_log_format));
  serve
      .add_option_function<std::string>(
          "--log-level", [&flags](const std::string& text) { flags.log_level = *parse_log_level(text); },
          "debug, info, warning or error")
      ->check(parsed_by(parse_log_level));
}

void add_review(CLI::App& app, ReviewOptions& options) {
  CLI::App& review = *app.add_subcommand("review",
                                         "Say what the webhooks would do with files, without a cluster. "
                                         "Exit code 0: all allowed; 1: something rejected; 2: unusable input");
  review.add_option("-f,--filename", options.files, "Manifests, Lists or AdmissionReviews, YAML or JSON; - for stdin")
      ->required();
  static const std::map<std::string, ReviewFormat> formats = {
      {"yaml", ReviewFormat::kYaml}, {"json", ReviewFormat::kJson}, {"patch", ReviewFormat::kPatch}};
  review.add_option("-o,--output", options.format, "yaml, json or patch")
      ->transform(CLI::CheckedTransformer(formats))
      ->option_text("FORMAT");
  static const std::map<std::string, Operation> operations = {
      {"CREATE", Operation::kCreate}, {"UPDATE", Operation::kUpdate}, {"DELETE", Operation::kDelete}};
  review.add_option("--operation", options.operation, "CREATE, UPDATE or DELETE")
      ->transform(CLI::CheckedTransformer(operations))
      ->option_text("OPERATION");
  review.add_option("--old", options.old_file, "For UPDATE: the objects as they are stored")->type_name("FILE");
  review.add_option("--config", options.config_file, "As for muster serve")->type_name("FILE");
  review.add_option("--as", options.user, "Name of the user who asks; the suspend guard looks at it");
}

void add_explain(CLI::App& app, ExplainOptions& options) {
  CLI::App& explain = *app.add_subcommand("explain",
                                          "Say why a job does not run. Exit code 0: answered; 1: no such object, or no "
                                          "answer; 2: wrong command line");
  explain.add_option("object", options.object, "job/NAME, jobset/NAME or workload/NAME; other kinds are told of")
      ->required()
      ->type_name("")
      ->option_text("KIND/NAME");
  explain.add_option("-n,--namespace", options.ns, "Of the object; default: the context's");
  static const std::map<std::string, ExplainFormat> formats = {{"text", ExplainFormat::kText},
                                                               {"json", ExplainFormat::kJson}};
  explain.add_option("-o,--output", options.format, "text or json")
      ->transform(CLI::CheckedTransformer(formats))
      ->option_text("FORMAT");
  explain.add_option("--kubeconfig", options.kubeconfig, "Default: KUBECONFIG, the pod's account, ~/.kube/config");
  explain.add_option("--context", options.context, "Context of the kubeconfig");
  explain.add_flag("--local", options.local, "Evaluate on this machine, from the objects that you can list");
  explain.add_option("--config", options.config_file, "muster's configuration, for an answer found here")
      ->type_name("FILE");
  explain.add_option("--muster-namespace", options.muster_namespace, "Where muster runs; default: muster-system");
  explain.add_option("--service", options.service, "Service of its metrics listener; default: muster-metrics");
  explain.add_option("--service-account", options.service_account,
                     "In whose name muster is asked, NAME or NAMESPACE/NAME; default: your own, else muster-explain");
  explain.add_option("--server", options.server, "URL of that listener, to ask without the API server's proxy");
  explain.add_option("--server-ca", options.server_ca, "Certificates to trust for --server")->type_name("FILE");
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("muster: all-or-nothing start for batch jobs on Kubernetes", "muster");
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  ServeFlags serve_flags;
  ReviewOptions review_options;
  ManifestsOptions manifests_options;
  add_serve(app, serve_flags);
  add_review(app, review_options);
  add_manifests(app, manifests_options);
  ExplainOptions explain_options;
  add_explain(app, explain_options);
  app.add_subcommand("version", "Print the version and those of the libraries");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // 0 for --help; a wrong command line is unusable input.
    return app.exit(error) == 0 ? 0 : 2;
  }
  if (app.got_subcommand("serve")) return serve(serve_flags);
  if (app.got_subcommand("review")) return review(review_options, {std::cin, std::cout, std::cerr});
  if (app.got_subcommand("explain")) return explain(explain_options, std::cout, std::cerr);
  if (app.got_subcommand("manifests")) return print_manifests(manifests_options, std::cout, std::cerr);
  std::cout << version_text();
  return 0;
}

}  // namespace muster
