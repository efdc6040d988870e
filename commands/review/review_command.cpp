#include "commands/review/review_command.h"

#include "base/did_you_mean.h"
#include "commands/review/source_flags.h"
#include "commands/terminal/cli_choice.h"

namespace muster::commands {
namespace {

Result<Operation> parse_reviewed_operation(std::string_view text) {
  static const std::vector<std::string> names = {"CREATE", "UPDATE", "DELETE"};
  static constexpr Operation kOperations[] = {Operation::kCreate, Operation::kUpdate, Operation::kDelete};
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == text) return kOperations[i];
  }
  return fail("there is no operation \"" + std::string(text) + "\"; there are CREATE, UPDATE and DELETE" +
              did_you_mean(text, names));
}

}  // namespace

void add_review(CLI::App& app, ReviewOptions& options) {
  CLI::App& review =
      *app.add_subcommand("review",
                          "Say what the API server and muster's webhooks would do with files, without a cluster. "
                          "Exit code 0: all allowed; 1: an object is rejected, or a document cannot be read; 2: the "
                          "options cannot be used, or a file cannot be opened");
  add_file_flags(review, options.sources,
                 "Manifests, Lists or AdmissionReviews, YAML or JSON: files, folders, or - for standard input");
  add_kustomize_flag(review, options.sources);
  add_choice(review, "-o,--output", options.format, parse_review_format,
             "yaml (default), json, patch, table, junit or sarif")
      ->type_name("FORMAT");
  review.add_flag("-v,--verbose", options.verbose, "With -o table: objects without a finding as well");
  review.add_flag("--strict", options.strict, "Exit code 1 also for a warning");
  add_choice(review, "--operation", options.operation, parse_reviewed_operation, "CREATE (default), UPDATE or DELETE")
      ->type_name("OPERATION");
  review.add_option("--old", options.old_file, "For UPDATE: the objects as they are stored; a file or folder")
      ->type_name("FILE");
  review.add_option("--config", options.config_file, "As for muster serve")->type_name("FILE");
  review
      .add_option(
          "--kinds", options.kinds_file,
          "A file with descriptions of kinds (JobKind): print what muster sees in each job, its pod sets and its "
          "state, instead of the resulting objects")
      ->type_name("FILE");
  review.add_option("--as", options.user, "Name of the requesting user; the suspend guard checks it")
      ->type_name("USER");
  review.footer(
      "Examples:\n  muster review -f job.yaml\n  muster review -R -f manifests/ -o table --strict\n"
      "  helm template . | muster review -f - -o sarif > findings.sarif");
}

}  // namespace muster::commands
