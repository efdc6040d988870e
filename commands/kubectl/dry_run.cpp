#include "commands/kubectl/dry_run.h"

#include <CLI/CLI.hpp>

#include "commands/terminal/cli_choice.h"

namespace muster::commands {

Result<DryRun> parse_dry_run(std::string_view text) {
  if (text.empty() || text == "none") return DryRun::kNone;
  if (text == "client" || text == "true") return DryRun::kClient;  // true: the flag without a value
  if (text == "server") return DryRun::kServer;
  return fail("--dry-run is client, server or none, not \"" + std::string(text) + "\"");
}

void add_dry_run(CLI::App& command, std::string& text) {
  command
      .add_flag("--dry-run", text,
                "client: change nothing; server: have the API server check the change and store nothing")
      ->check(parsed_by(parse_dry_run));
}

DryRun dry_run_of(const std::string& text) {
  const auto parsed = parse_dry_run(text);
  return parsed ? *parsed : DryRun::kClient;
}

std::string suffix_of(DryRun dry_run) {
  if (dry_run == DryRun::kClient) return " (dry run)";
  return dry_run == DryRun::kServer ? " (server dry run)" : "";
}

}  // namespace muster::commands
