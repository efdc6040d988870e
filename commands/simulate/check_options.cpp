#include "commands/simulate/check_options.h"

namespace muster::commands {

Outcome<> check_options(const SimulateOptions& options) {
  if (options.from_cluster && !options.compared.files.empty())
    return fail("--compare takes two sets of files; leave --from-cluster out");
  if (options.from_cluster && options.jobs > 0)
    return fail("--jobs takes the jobs of files as templates; leave --from-cluster out");
  if (!options.job_file.empty() && (options.jobs > 0 || !options.compared.files.empty()))
    return fail("--job asks about one job; leave --jobs and --compare out");
  if (!options.job_file.empty() && options.format != SimulateFormat::kTable &&
      options.format != SimulateFormat::kJson && options.format != SimulateFormat::kYaml)
    return fail("--job prints as table, json or yaml");
  if (!options.from_cluster && options.sources.files.empty() && options.sources.kustomizations.empty())
    return fail("name what to simulate: -f FILE, -f FOLDER, -f - for standard input, -k FOLDER, or --from-cluster");
  if ((options.jobs > 0) != options.over.has_value())
    return fail("random arrivals need both --jobs N and --over DURATION");
  if (options.jobs > 0 && !options.arrivals_file.empty())
    return fail("--jobs and --arrivals both define arrivals; use one of them");
  if (options.arrivals_format && options.arrivals_file.empty())
    return fail("--arrivals-format is that of a file; name it with --arrivals FILE");
  if (options.stop_time <= Duration::zero()) return fail("--stop-time must be more than 0s");
  if (options.run_time <= Duration::zero()) return fail("--run-time must be more than 0s");
  if (options.until && *options.until <= Duration::zero()) return fail("--until must be more than 0s");
  if (options.format == SimulateFormat::kJunit && options.expect_file.empty())
    return fail("-o junit prints expectations; name them with --expect FILE");
  if (options.format == SimulateFormat::kCsv && !options.compared.files.empty())
    return fail("-o csv prints the jobs of one configuration; leave --compare out");
  return Done{};
}

bool is_replay_alone(const SimulateOptions& options) {
  const bool others = !options.sources.files.empty() || !options.sources.kustomizations.empty() ||
                      !options.arrivals_file.empty() || options.arrivals_format || options.seed || options.jobs > 0 ||
                      options.over || options.until || !options.expect_file.empty() ||
                      !options.compared.files.empty() || !options.page_file.empty() || !options.job_file.empty() ||
                      options.from_cluster || options.ignore_nodes;
  const bool printable = options.format == SimulateFormat::kTable || options.format == SimulateFormat::kJson ||
                         options.format == SimulateFormat::kYaml;
  return !others && printable;
}

}  // namespace muster::commands
