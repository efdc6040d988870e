#include <CLI/CLI.hpp>
#include <ostream>

#include "commands/moving/adopt.h"
#include "commands/moving/with_cluster.h"
#include "commands/terminal/cli_choice.h"

namespace muster::commands {
void add_adopt(CLI::App& app, AdoptFlags& flags) {
  CLI::App& command =
      *app.add_subcommand("adopt", "Move a cluster from Kueue to muster, step by step; --undo moves it back");
  command.add_flag("--dry-run", flags.dry_run, "Print the steps and change nothing");
  CLI::Option* undo =
      command.add_flag("--undo", flags.undo, "Go back: muster stops, and Kueue starts on the same objects");
  command.add_flag("--jobset", flags.jobset, "Take over from JobSet's controller as well")->excludes(undo);
  command.add_flag("--accept-harm", flags.accept_harm, "Begin although preflight names harm")->excludes(undo);
  command
      .add_flag("--keep-configuration", flags.keep_configuration,
                "Begin although muster is configured otherwise than Kueue")
      ->excludes(undo);
  add_choice(command, "--timeout", flags.timeout, parse_wait, "How long to wait in one step at most; default: 5m")
      ->type_name("DURATION");
  add_muster_namespace(command, flags.cluster);
  add_cluster_flags(command, flags.cluster);
  command.footer(
      "After an interruption, run the command again: it continues where it stopped. docs/migration.md describes all "
      "steps.\nExamples:\n  kubectl muster adopt --dry-run\n  kubectl muster adopt\n  kubectl muster adopt --undo");
}

int run_adopt(const AdoptFlags& flags, ReviewStreams streams) {
  return with_cluster("adopt", flags.cluster, streams, [&](kube::KubeApi& api) {
    return adopt_in(api, flags, {system_clock(), kube::system_sleeper(), [] { return 0.5; }}, streams);
  });
}

}  // namespace muster::commands
