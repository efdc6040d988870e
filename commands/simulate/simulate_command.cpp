#include "commands/simulate/simulate_command.h"

#include <cstdint>
#include <limits>

#include "base/whole_number.h"
#include "commands/review/source_flags.h"
#include "commands/terminal/cli_choice.h"
#include "forecast/annotations.h"

namespace muster::commands {
namespace {

template <class T>
CLI::Option* add_span(CLI::App& command, const std::string& name, T& value, const std::string& help) {
  return command
      .add_option_function<std::string>(
          name, [&value](const std::string& text) { value = *forecast::parse_span(text); }, help)
      ->check(parsed_by(forecast::parse_span))
      ->type_name("DURATION");
}

Result<double> parse_spread(std::string_view text) {
  const auto number = finite_number(text);
  if (!number || *number < 0 || *number > 5) return fail("must be a number from 0 to 5");
  return *number;
}

}  // namespace

void add_simulate(CLI::App& app, SimulateOptions& options) {
  CLI::App& simulate = *app.add_subcommand(
      "simulate",
      "Say what would become of jobs under a configuration of queues, in virtual time. Exit code 0: "
      "done, and all expectations hold; 1: one does not; 2: input or options cannot be used");
  add_file_flags(simulate, options.sources,
                 "Flavors, queues, cohorts, classes, jobs and Workloads, YAML or JSON, also as kubectl get -o yaml "
                 "prints them: files, folders, or - for standard input");
  add_kustomize_flag(simulate, options.sources);
  simulate.add_option("--config", options.config_file, "As for muster serve; without it all kinds of jobs are enabled")
      ->type_name("FILE");
  simulate
      .add_option("--arrivals", options.arrivals_file,
                  "A CSV of jobs: time,namespace,queue,name,class,count,requests,runTime")
      ->type_name("FILE");
  add_choice(simulate, "--arrivals-format", options.arrivals_format, forecast::parse_arrivals_format,
             "csv (default), or a published trace: helios (cluster_log.csv), philly (cluster_job_log)")
      ->type_name("FORMAT");
  simulate.add_option("--seed", options.seed, "Of random arrivals and failures; default 0")
      ->check(whole_number_from<uint64_t>(0, std::numeric_limits<uint64_t>::max()))
      ->type_name("N");
  simulate.add_option("--jobs", options.jobs, "Number of random arrivals, with the jobs of the input as templates")
      ->type_name("N")
      ->check(whole_number_from(1, 20'000'000));
  add_span(simulate, "--over", options.over, "Duration of the arrivals");
  simulate
      .add_option("--spread", options.spread,
                  "Deviation of the logarithm of random run times; 0: as the templates say; default 0.8")
      ->check(parsed_by(parse_spread))
      ->type_name("NUMBER");
  add_span(simulate, "--until", options.until, "Ends then; default: when nothing happens any more");
  add_span(simulate, "--run-time", options.run_time, "Of jobs of which nothing says how long they run; default 1h");
  add_span(simulate, "--stop-time", options.stop_time, "From an eviction until the quota is free; default 10s");
  add_choice(simulate, "-o,--output", options.format, parse_simulate_format,
             "table (default), json, yaml, csv (one row for each job) or junit (with --expect)")
      ->type_name("FORMAT");
  simulate.add_option("--expect", options.expect_file, "Expectations, YAML; exit code 1 when one does not hold")
      ->type_name("FILE");
  simulate
      .add_option("--compare", options.compared.files,
                  "Another configuration: both side by side. Expectations are about this one")
      ->type_name("FILE");
  simulate.add_option("--html", options.page_file, "Write a page with plots, which needs no network")
      ->type_name("FILE");
  simulate
      .add_option("--job", options.job_file,
                  "A job: say whether it would be admitted, when, on which flavor, and which Workloads it would evict")
      ->type_name("FILE");
  simulate.add_flag("--from-cluster", options.from_cluster,
                    "Read queues and Workloads from the cluster, with your own rights; nothing is written");
  simulate.add_flag("--ignore-nodes", options.ignore_nodes,
                    "Nodes of the input and of the cluster do not limit jobs; only quota does");
  add_cluster_flags(simulate, options.cluster);
  simulate
      .add_option(
          "--replay", options.replay_file,
          "A recording of muster serve --record, or - for standard input: repeat its decisions, and report the "
          "differences of this muster (with --config: of this configuration). Exit code 1: there are differences")
      ->type_name("FILE");
  simulate.add_option("--differences", options.most_differences, "With --replay: how many are shown; default 20")
      ->type_name("N")
      ->check(whole_number_from(1, 100'000));
  simulate.add_flag("--progress", options.progress, "Say on standard error how far it is");
  simulate.footer(
      "Examples:\n  muster simulate -f queues.yaml -f jobs.yaml\n"
      "  muster simulate -f queues.yaml --arrivals jobs.csv --compare other-queues.yaml --html report.html\n"
      "  muster simulate --from-cluster --job train.yaml");
}

}  // namespace muster::commands
