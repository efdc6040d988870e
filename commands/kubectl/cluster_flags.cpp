#include "commands/kubectl/cluster_flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string_view>

#include "api/meta/names.h"
#include "api/meta/time.h"
#include "commands/terminal/cli_choice.h"

namespace muster::commands {
namespace {

// As in kubectl: a number means seconds, and 0 means no limit.
Result<Duration> parse_request_timeout(std::string_view text) {
  const bool number = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  auto timeout = parse_duration(std::string(text) + (number ? "s" : ""));
  if (!timeout || *timeout < Duration::zero())
    return fail("a timeout is a duration as 10s or 1m, or a number of seconds");
  return timeout;
}

Result<std::string> parse_namespace(std::string_view text) {
  if (const auto wrong = is_dns1123_label(text); !wrong.empty())
    return fail("no namespace can be named \"" + std::string(text) + "\": " + join(wrong, "; "));
  return std::string(text);
}

// It becomes a header.
Result<std::string> parse_user(std::string_view text) {
  const bool printable = std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= ' ' && c != 0x7f; });
  if (text.empty() || !printable) return fail("a user or group to impersonate is a name without control characters");
  return std::string(text);
}

}  // namespace

void add_cluster_flags(CLI::App& command, ClusterFlags& flags) {
  add_choice(command, "-n,--namespace", flags.ns, parse_namespace, "Default: the context's")->type_name("NAMESPACE");
  command.add_option("--kubeconfig", flags.kubeconfig, "Default: KUBECONFIG, the pod's account, ~/.kube/config");
  command.add_option("--context", flags.context, "Context of the kubeconfig");
  CLI::Option* as = add_choice(command, "--as", flags.as_user, parse_user, "Impersonate this user")->type_name("USER");
  command.add_option("--as-group", flags.as_groups, "Impersonate this group; needs --as")
      ->check(parsed_by(parse_user))
      ->type_name("GROUP")
      ->allow_extra_args(false)
      ->needs(as);
  command
      .add_option_function<std::string>(
          "--request-timeout",
          [&flags](const std::string& text) {
            const Duration timeout = *parse_request_timeout(text);
            if (timeout > Duration::zero()) flags.request_timeout = timeout;
          },
          "How long each request to the API server takes at most, for example 10s; 0: the default")
      ->check(parsed_by(parse_request_timeout));
}

void add_reader_flags(CLI::App& command, ClusterFlags& flags) {
  command.add_flag("--local", flags.local, "Evaluate on this machine, from the objects that you can list");
  command.add_option("--config", flags.config_file, "muster's configuration, for an answer found here")
      ->type_name("FILE");
  command.add_option("--muster-namespace", flags.muster_namespace, "Where muster runs; default: muster-system");
  command.add_option("--service", flags.service, "Service of its metrics listener; default: muster-metrics");
  command.add_option("--service-account", flags.service_account,
                     "Ask in the name of this service account, NAME or NAMESPACE/NAME; default: in your own");
  command.add_option("--server", flags.server, "URL of that listener, to ask without the API server's proxy");
  command.add_option("--server-ca", flags.server_ca, "Certificates to trust for --server")->type_name("FILE");
}

}  // namespace muster::commands
