#include "commands/dashboard/dashboard.h"

#include <CLI/CLI.hpp>
#include <csignal>
#include <ostream>
#include <thread>

#include "commands/dashboard/page_server.h"
#include "commands/kubectl/reader.h"
#include "commands/terminal/signals.h"

namespace muster::commands {

void add_dashboard(CLI::App& app, DashboardOptions& options) {
  CLI::App& command = *app.add_subcommand(
      "dashboard", "Show jobs, queues and quota on a page in the browser, with your own rights, until Ctrl-C");
  command.add_option("--port", options.port, "Of 127.0.0.1; default: a free one")->type_name("PORT");
  command.add_flag("-A,--all-namespaces", options.all_namespaces, "Begin with the jobs of all namespaces");
  add_cluster_flags(command, options.cluster);
  add_reader_flags(command, options.cluster);
  command.footer("Examples:\n  kubectl muster dashboard -n team-a\n  kubectl muster dashboard -A --port 8001");
}

int dashboard(const DashboardOptions& options, std::ostream& out, std::ostream& err) {
  const auto stop = [&](const std::string& why) {
    err << "muster dashboard: " << why << "\n";
    return 1;
  };
  const sigset_t signals = block_signals({SIGINT, SIGTERM});
  auto reader = MusterReader::connect(options.cluster);
  if (!reader) return stop(reader.error().message);
  const std::string token = random_secret();
  if (token.empty()) return stop("the system gives no random numbers for the page's address");
  ClusterPageSource source(**reader, options.cluster.local, system_clock());
  PageServer server({.token = token,
                     .port = options.port,
                     .ns = options.all_namespaces ? "" : (*reader)->ns(),
                     .server = (*reader)->cluster()},
                    source);
  if (const auto bound = server.bind(); !bound) return stop(bound.error().message);
  std::thread serving([&server] { server.run(); });
  out << server.address() << "\n" << std::flush;
  err << "Open this address in a browser on this machine. It shows what you may read. Ctrl-C ends it.\n";
  int signal = 0;
  sigwait(&signals, &signal);
  server.stop();
  serving.join();
  return 0;
}

}  // namespace muster::commands
