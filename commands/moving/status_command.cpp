#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>

#include "api/codec/json.h"
#include "api/meta/constants.h"
#include "api/meta/time.h"
#include "api/workload_conditions.h"
#include "commands/moving/moving_commands.h"
#include "commands/moving/read_cluster.h"
#include "commands/moving/rules/install_status.h"
#include "commands/moving/with_cluster.h"
#include "commands/terminal/cli_choice.h"
#include "commands/terminal/escape.h"
#include "kube/leases/lease_record.h"

namespace muster::commands {
namespace {

using nlohmann::json;

constexpr Duration kBetweenLooks = std::chrono::seconds(1);
// A webhook has 5 s, and there are two.
constexpr Duration kLongestDryRun = std::chrono::seconds(15);

std::vector<Reading> status_readings(const std::string& ns) {
  const auto name = std::string(manifests::kWebhookConfigurationName);
  return {{deployments(), named("muster", ns)},
          {kube::leases(), named(manifests::kLeaseName, ns)},
          {kube::resource_of(kMutatingWebhookConfigurations), named(name)},
          {kube::resource_of(kValidatingWebhookConfigurations), named(name)}};
}

// Asks for a ResourceFlavor that is not stored. muster's answer is seen in it: the webhook adds a finalizer. So an API
// server without muster's webhooks is no answer.
std::string ask_webhooks(kube::KubeApi& api) {
  const json flavor = {{"apiVersion", "kueue.x-k8s.io/v1beta2"},
                       {"kind", "ResourceFlavor"},
                       {"metadata", {{"generateName", "muster-status-"}}},
                       {"spec", json::object()}};
  kube::KubeRequest request;
  request.method = "POST";
  request.path = kube::collection_path(kube::resource_of(kResourceFlavors), "");
  request.query = {{"dryRun", "All"}};
  request.body = flavor.dump();
  request.timeout = kLongestDryRun;
  request.once = true;
  const auto answer = api.send(request, {});
  if (!answer && answer.error().code == 404)
    return "webhooks were not asked: the API server does not serve ResourceFlavors, so muster's definitions are "
           "missing";
  if (!answer && answer.error().forbidden())
    return "webhooks were not asked: a dry run of a ResourceFlavor was refused: " + answer.error().message;
  if (!answer) return "webhooks do not answer: " + answer.error().message;
  const std::vector<std::string> finalizers = strings_at(*answer, {"metadata", "finalizers"});
  if (std::find(finalizers.begin(), finalizers.end(), kResourceInUseFinalizer) == finalizers.end())
    return "webhooks do not answer: the API server did not send a dry run of a ResourceFlavor to muster";
  return "";
}

struct Look {
  ClusterDump dump{};
  StatusFacts facts{};
  std::vector<std::string> missing{};
};

Look look_at_muster(kube::KubeApi& api, const std::string& ns, const Clock& clock) {
  Look look;
  look.facts.cluster.muster_namespace = ns;
  if (auto read = read_into(api, status_readings(ns), look.dump); !read) {
    look.missing = {"not known: " + read.error().message};
    return look;
  }
  look.facts.webhook_problem = ask_webhooks(api);
  look.facts.cluster.server_now = server_time(api);
  look.facts.cluster.now = clock.now().wall;
  look.missing = missing_parts(look.dump, look.facts);
  return look;
}

void print_first_cause(kube::KubeApi& api, const std::string& ns, const Clock& clock, std::ostream& out) {
  const auto findings = examine(api, ns, clock);
  if (!findings || !needs_action(*findings)) {
    out << "muster doctor " << (findings ? "finds no cause" : "has no answer: " + on_one_line(findings.error().message))
        << "\n";
    return;
  }
  out << "The cause, by muster doctor:\n" << print_findings({findings->front()}, FindingFormat::kTable, "");
}

}  // namespace

Result<Duration> parse_wait(std::string_view text) {
  auto wait = parse_duration(text);
  if (!wait || *wait <= Duration::zero()) return fail("a time to wait is a duration as 30s or 5m");
  return wait;
}

void add_status(CLI::App& app, StatusFlags& flags) {
  CLI::App& command = *app.add_subcommand("status", "Say whether muster is installed and works; for installers");
  CLI::Option* wait =
      command.add_flag("--wait", flags.wait, "Wait until it works; after --timeout the cause is printed");
  add_choice(command, "--timeout", flags.timeout, parse_wait,
             "How long --wait waits at most; default: 2m; needs --wait")
      ->type_name("DURATION")
      ->needs(wait);
  add_muster_namespace(command, flags.cluster);
  add_cluster_flags(command, flags.cluster);
  command.footer(
      "Exit code 0: muster is installed, all its replicas are ready, its webhooks answer and a replica leads; 1: a "
      "part "
      "is missing, with a line for each. The webhooks are asked by a dry run, which takes the right to create "
      "resourceflavors.\nExamples:\n  kubectl muster status\n  kubectl muster status --wait --timeout 5m");
}

int status_of(kube::KubeApi& api, const StatusFlags& flags, const kube::Timing& timing, ReviewStreams streams) {
  const std::string& ns = flags.cluster.muster_namespace;
  const MonotonicTime until = timing.clock.now().monotonic + (flags.wait ? flags.timeout : Duration::zero());
  Look look = look_at_muster(api, ns, timing.clock);
  while (!look.missing.empty() && timing.clock.now().monotonic < until) {
    timing.sleeper.sleep(kBetweenLooks, {});
    look = look_at_muster(api, ns, timing.clock);
  }
  if (look.missing.empty()) {
    streams.out << "muster works in namespace " << ns << ": " << on_one_line(complete_status(look.dump, look.facts))
                << "\n";
    return 0;
  }
  for (const std::string& line : look.missing) streams.out << on_one_line(line) << "\n";
  if (flags.wait)
    print_first_cause(api, ns, timing.clock, streams.out);
  else
    streams.out << "muster doctor names the cause\n";
  return 1;
}

int run_status(const StatusFlags& flags, ReviewStreams streams) {
  return with_cluster("status", flags.cluster, streams, [&](kube::KubeApi& api) {
    return status_of(api, flags, {system_clock(), kube::system_sleeper(), [] { return 0.5; }}, streams);
  });
}

}  // namespace muster::commands
