#include <CLI/CLI.hpp>
#include <optional>
#include <ostream>

#include "api/meta/names.h"
#include "commands/moving/moving_commands.h"
#include "commands/moving/read_cluster.h"
#include "commands/moving/rules/preflight.h"
#include "commands/moving/with_cluster.h"
#include "commands/review/source_flags.h"
#include "commands/terminal/cli_choice.h"

namespace muster::commands {
namespace {

Result<std::string> parse_muster_namespace(std::string_view text) {
  if (const auto wrong = is_dns1123_label(text); !wrong.empty())
    return fail("no namespace can be named \"" + std::string(text) + "\": " + join(wrong, "; "));
  return std::string(text);
}

int stop(std::ostream& err, int code, const std::string& why) {
  err << "muster preflight: " << why << "\n";
  return code;
}

int judge(const ClusterDump& dump, std::optional<int> minor, const PreflightFlags& flags, ReviewStreams streams) {
  PreflightOptions options{.muster_namespace = flags.cluster.muster_namespace, .server_minor = minor};
  std::optional<runtime::Settings> settings;
  if (!flags.cluster.config_file.empty()) {
    runtime::SettingsFlags file;
    file.config_file = flags.cluster.config_file;
    auto loaded = runtime::load_settings(file, options.muster_namespace);
    if (!loaded) return stop(streams.err, 2, loaded.error().message);
    settings = std::move(*loaded);
    options.settings = &*settings;
  }
  const std::vector<Finding> findings = preflight(dump, options);
  streams.out << print_findings(findings, flags.format, "Nothing stands against a move to muster.");
  return needs_action(findings) ? 1 : 0;
}

}  // namespace

void add_muster_namespace(CLI::App& command, ClusterFlags& flags) {
  add_choice(command, "--muster-namespace", flags.muster_namespace, parse_muster_namespace,
             "Where muster runs, or will; default: muster-system")
      ->type_name("NAMESPACE");
}

void add_finding_format(CLI::App& command, FindingFormat& format) {
  add_choice(command, "-o,--output", format, parse_finding_format, "table (default), json or yaml")
      ->type_name("FORMAT");
}

void add_preflight(CLI::App& app, PreflightFlags& flags) {
  CLI::App& command = *app.add_subcommand(
      "preflight", "Say what a move from Kueue to muster would do to this cluster; changes nothing");
  add_file_flags(command, flags.sources,
                 "Files or folders of `kubectl get -o yaml`, or - for standard input, instead of a cluster");
  command
      .add_option("--config", flags.cluster.config_file,
                  "The configuration that muster will have; default: Kueue's ConfigMap")
      ->type_name("FILE");
  add_finding_format(command, flags.format);
  add_muster_namespace(command, flags.cluster);
  add_cluster_flags(command, flags.cluster);
  command.footer(
      "Exit code 0: nothing is to be done; 1: there is. docs/migration.md has the whole way.\n"
      "Examples:\n  kubectl muster preflight\n  kubectl muster preflight -o json\n  muster preflight -f dump.yaml");
}

int preflight_of(kube::KubeApi& api, const PreflightFlags& flags, ReviewStreams streams) {
  ClusterDump dump;
  if (auto read = read_into(api, preflight_readings(), dump); !read) return stop(streams.err, 1, read.error().message);
  return judge(dump, server_minor(api), flags, streams);
}

int run_preflight(const PreflightFlags& flags, ReviewStreams streams) {
  if (!flags.sources.files.empty()) {
    auto dump = read_dump(flags.sources, streams.in);
    if (!dump) return stop(streams.err, 2, dump.error().message);
    return judge(*dump, std::nullopt, flags, streams);
  }
  return with_cluster("preflight", flags.cluster, streams,
                      [&](kube::KubeApi& api) { return preflight_of(api, flags, streams); });
}

}  // namespace muster::commands
