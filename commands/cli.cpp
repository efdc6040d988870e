#include "commands/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "api/meta/names.h"
#include "api/meta/time.h"
#include "base/did_you_mean.h"
#include "commands/agent/agent.h"
#include "commands/dashboard/dashboard.h"
#include "commands/explain/explain.h"
#include "commands/foreign_flags.h"
#include "commands/kubectl/completion.h"
#include "commands/kubectl/create_command.h"
#include "commands/kubectl/get_command.h"
#include "commands/kubectl/stop_command.h"
#include "commands/manifests.h"
#include "commands/moving/moving_commands.h"
#include "commands/review/review_command.h"
#include "commands/serve/serve.h"
#include "commands/settings_flags.h"
#include "commands/simulate/simulate_command.h"
#include "commands/terminal/cli_choice.h"
#include "runtime/version.h"

namespace muster::commands {
namespace {

// A flag of an earlier version: a user who still sets it gets a message about its replacement.
void refuse_old_flag(CLI::App& command, const std::string& flag, const std::string& why) {
  command.add_flag_callback(flag, [flag, why] { throw CLI::ValidationError(flag, why); })->group("");
}

void add_serve(CLI::App& app, ServeFlags& flags) {
  CLI::App& serve = *app.add_subcommand(
      "serve", "Run muster: schedule jobs, start and stop them, and serve the webhooks, probes and metrics");
  serve
      .add_option("--config", flags.settings.config_file,
                  "Kueue's Configuration, and muster's own in a second document; see docs/configuration.md")
      ->type_name("FILE");
  serve.add_option("--feature-gates", flags.settings.feature_gates, "Kueue's feature gates, as A=true,B=false");
  refuse_old_flag(serve, "--ignore-unsupported-frameworks",
                  "was removed: muster starts with all kinds that Kueue's integrations.frameworks can have, and logs "
                  "the kinds that it does not queue; remove the flag");
  add_foreign_flags(serve, flags.notes);
  add_setting_flags(serve, SettingFlags::kAll, flags.settings.given);
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
  add_on_off(serve, "--keep-webhook-configurations", "Keep muster's webhook configurations in line (default)",
             "--no-keep-webhook-configurations", "Leave them as they are", flags.keep_webhook_configurations);
  add_on_off(serve, "--metrics-authorization",
             "Let the API server check the right to read the metrics (default in a cluster)",
             "--no-metrics-authorization", "Serve the metrics without this check", flags.metrics_authorization);
  add_on_off(serve, "--start-estimates", "Estimate when pending Workloads start, for explain and lists (default)",
             "--no-start-estimates", "Leave the estimate out", flags.start_estimates);
  serve.add_option("--cert-dir", flags.cert_dir, "Directory of the certificates, where they are not in a Secret");
  serve.add_option("--workers", flags.workers, "Threads that answer reviews; default: one per core, at least 2")
      ->check(whole_number_from(1, 256))
      ->option_text("N");
  serve
      .add_option("--record", flags.record_file,
                  "Record the input and the decisions of muster, for muster simulate --replay; values of environment "
                  "variables and similar texts are replaced by hashes")
      ->type_name("FILE");
  serve
      .add_option_function<std::string>(
          "--record-limit",
          [&flags](const std::string& text) { flags.record_limit = *runtime::parse_recording_limit(text); },
          "How large FILE can become, for example 1Gi; then FILE.1 is the one before; default 256Mi")
      ->check(parsed_by(runtime::parse_recording_limit))
      ->type_name("SIZE");
  serve
      .add_option_function<std::string>(
          "--shutdown-delay", [&flags](const std::string& text) { flags.shutdown_delay = *parse_duration(text); },
          "How long muster serves after SIGTERM while it is not ready, for example 5s")
      ->check(parsed_by(parse_duration));
  serve
      .add_option_function<std::string>(
          "--log-level", [&flags](const std::string& text) { flags.log_level = *runtime::parse_log_level(text); },
          "debug, info, warning or error")
      ->check(parsed_by(runtime::parse_log_level));
  serve.footer(
      "Examples:\n  muster serve --config muster.yaml\n"
      "  muster serve --kubeconfig admin.conf --webhook-url https://10.0.0.5:9443\n"
      "  muster serve --record /var/log/muster.jsonl --record-limit 1Gi");
}

// The commands, and the options that go with each.
struct CommandLine {
  CommandLine() : app("muster: all-or-nothing start for batch jobs on Kubernetes", "muster") {
    app.require_subcommand(0, 1);
    app.get_formatter()->column_width(36);
    add_serve(app, serve_flags);
    add_review(app, review_options);
    add_simulate(app, simulate_options);
    add_manifests(app, manifests_options);
    add_explain(app, explain_options);
    add_history(app, history_options);
    add_priority(app, priority_options);
    add_get(app, get_options);
    add_top(app, top_options);
    add_tree(app, tree_options);
    add_who(app, who_options);
    add_dashboard(app, dashboard_options);
    add_stop(app, stop_options);
    add_resume(app, resume_options);
    add_create(app, create_options, created);
    add_preflight(app, preflight_flags);
    add_adopt(app, adopt_flags);
    add_doctor(app, doctor_flags);
    add_status(app, status_flags);
    add_sysdump(app, sysdump_flags);
    CLI::App& completion = *app.add_subcommand("completion", "Print the script that completes commands in a shell");
    completion.footer("Example:\n  source <(muster completion bash)");
    add_choice(
        completion, "shell", shell,
        [](std::string_view text) -> Result<std::string> {
          if (auto script = completion_script(text); !script) return fail(script.error().message);
          return std::string(text);
        },
        "bash, zsh or fish")
        ->required()
        ->type_name("")
        ->option_text("SHELL");
    app.add_subcommand("in-place-restart-agent",
                       "Run as a sidecar in the pods of a JobSet that restarts in place; see docs/in-place-restart.md")
        ->footer("Example, as the command of the sidecar:\n  muster in-place-restart-agent");
    app.add_subcommand("version", "Print the version and those of the libraries")->footer("Example:\n  muster version");
    app.add_flag("--version", wants_version, "Print the version and those of the libraries");
  }

  CLI::App app;
  ServeFlags serve_flags;
  ReviewOptions review_options;
  SimulateOptions simulate_options;
  ManifestsOptions manifests_options;
  ExplainOptions explain_options, history_options, priority_options;
  DashboardOptions dashboard_options;
  GetOptions get_options, top_options, tree_options, who_options;
  StopOptions stop_options, resume_options;
  CreateOptions create_options;
  PreflightFlags preflight_flags;
  AdoptFlags adopt_flags;
  DoctorFlags doctor_flags;
  StatusFlags status_flags;
  SysdumpFlags sysdump_flags;
  std::string created, shell;
  bool wants_version = false;
};

std::vector<std::string> command_names(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// The first word decides: an unknown command is reported before its flags.
std::string wrong_command(CLI::App& app, const std::vector<std::string>& arguments) {
  const std::vector<std::string> names = command_names(app);
  const std::string known = "the commands are " + join(names, ", ");
  if (arguments.empty()) return "a command is missing; " + known;
  const std::string& first = arguments.front();
  if (first.starts_with("-") || std::find(names.begin(), names.end(), first) != names.end()) return "";
  return "there is no command \"" + first + "\"; " + known + did_you_mean(first, names);
}

// CLI11 puts the words that it does not expect behind a colon, several of them in brackets.
std::string first_unexpected(const CLI::ParseError& error) {
  const std::string message = error.what();
  const size_t colon = message.find(": ");
  const bool unexpected = error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError);
  if (!unexpected || colon == std::string::npos) return "";
  const size_t from = message.find_first_not_of(" [", colon + 1);
  if (from == std::string::npos) return "";
  return message.substr(from, message.find_first_of(" ]=", from) - from);
}

// CLI11's own terms in a sentence; empty: its message is one.
std::string plain_words(const CLI::ParseError& error) {
  const std::string message = error.what(), conversion = "Could not convert: ";
  const size_t equals = message.find(" = ");
  if (message.starts_with(conversion) && equals != std::string::npos) {
    const std::string flag = message.substr(conversion.size(), equals - conversion.size());
    return flag + ": \"" + message.substr(equals + 3) + "\" is no number, or one that is too large";
  }
  const size_t required = message.find(": 1 required "), missing = message.rfind(" missing");
  if (required != std::string::npos && missing != std::string::npos)
    return message.substr(0, required) + ": a value is missing";
  return "";
}

// The message of CLI11, with a suggestion for an unknown flag.
std::string wrong_arguments(const CLI::App& app, const CLI::ParseError& error) {
  const auto chosen = app.get_subcommands();
  const CLI::App& command = chosen.empty() ? app : *chosen.front();
  const std::string name = chosen.empty() ? "" : command.get_name() + ": ";
  const std::string word = first_unexpected(error);
  if (const std::string plain = plain_words(error); !plain.empty()) return name + plain;
  if (word.empty()) return name + error.what();
  if (!word.starts_with("-")) return name + "the argument \"" + word + "\" is not expected here";
  return name + "there is no flag " + word + did_you_mean(word, option_names(command));
}

// The commands that need a cluster; nullopt: another command.
std::optional<int> run_for_people(const CommandLine& line, const ReviewStreams& streams) {
  const CLI::App& app = line.app;
  if (app.got_subcommand("explain")) return explain(line.explain_options, streams.out, streams.err);
  if (app.got_subcommand("history")) return history(line.history_options, streams.out, streams.err);
  if (app.got_subcommand("priority")) return priority(line.priority_options, streams.out, streams.err);
  if (app.got_subcommand("get")) return get(line.get_options, streams.out, streams.err);
  if (app.got_subcommand("top")) return top(line.top_options, streams.out, streams.err);
  if (app.got_subcommand("tree")) return tree(line.tree_options, streams.out, streams.err);
  if (app.got_subcommand("who")) return who(line.who_options, streams.out, streams.err);
  if (app.got_subcommand("dashboard")) return dashboard(line.dashboard_options, streams.out, streams.err);
  if (app.got_subcommand("stop")) return stop_queue(line.stop_options, streams.out, streams.err);
  if (app.got_subcommand("resume")) return resume_queue(line.resume_options, streams.out, streams.err);
  if (app.got_subcommand("create")) return create(line.created, line.create_options, streams.out, streams.err);
  if (app.got_subcommand("preflight")) return run_preflight(line.preflight_flags, streams);
  if (app.got_subcommand("adopt")) return run_adopt(line.adopt_flags, streams);
  if (app.got_subcommand("doctor")) return run_doctor(line.doctor_flags, streams);
  if (app.got_subcommand("status")) return run_status(line.status_flags, streams);
  if (app.got_subcommand("sysdump")) return run_sysdump(line.sysdump_flags, streams);
  return std::nullopt;
}

// The request of a shell completion, converted to words of the command line.
constexpr const char* kCompleteCommand = "__complete";

}  // namespace

int run_command_line(const std::vector<std::string>& arguments, ReviewStreams streams) {
  CommandLine line;
  if (!arguments.empty() && arguments.front() == kCompleteCommand) {
    streams.out << complete(line.app, {arguments.begin() + 1, arguments.end()}, names_from_cluster());
    return 0;
  }
  CLI::App& app = line.app;
  const auto stop = [&](const std::string& why) {
    streams.err << "muster: " << why << "\nmuster --help says more\n";
    return 2;
  };
  if (const std::string wrong = wrong_command(app, arguments); !wrong.empty()) return stop(wrong);
  try {
    // CLI11 reads them from the end.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp& help) {
    app.exit(help, streams.out, streams.err);
    return 0;
  } catch (const CLI::ParseError& error) {
    return stop(wrong_arguments(app, error));
  } catch (const std::out_of_range&) {  // CLI11 reads the value of a flag as a number, without a limit
    return stop("the value of a flag is a number that is too large");
  }
  if (line.wants_version || app.got_subcommand("version")) {
    streams.out << runtime::version_text();
    return 0;
  }
  if (app.got_subcommand("serve")) return serve(line.serve_flags);
  if (app.got_subcommand("review")) return review(line.review_options, streams);
  if (app.got_subcommand("simulate")) return simulate(line.simulate_options, streams);
  if (app.got_subcommand("manifests")) return print_manifests(line.manifests_options, streams.out, streams.err);
  if (app.got_subcommand("completion")) {
    streams.out << *completion_script(line.shell);
    return 0;
  }
  if (app.got_subcommand("in-place-restart-agent"))
    return agent::run_agent_process([&](const std::string& text) { streams.err << text + "\n" << std::flush; });
  if (const auto code = run_for_people(line, streams)) return *code;
  return stop("a command is missing; the commands are " + join(command_names(app), ", "));
}

// As a plugin of kubectl it is called by other names: kubectl-muster, and kubectl_complete-muster for completion.
int run_command_line(int argc, char** argv) {
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string_view program = argc > 0 ? argv[0] : "";
  if (program.substr(program.rfind('/') + 1) == "kubectl_complete-muster")
    arguments.insert(arguments.begin(), kCompleteCommand);
  return run_command_line(arguments, {std::cin, std::cout, std::cerr});
}

}  // namespace muster::commands
