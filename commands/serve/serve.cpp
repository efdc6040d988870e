#include "commands/serve/serve.h"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>

#include "commands/serve/serve_process.h"
#include "commands/terminal/signals.h"
#include "runtime/core_dumps.h"
#include "runtime/version.h"

namespace muster::commands {
namespace {

// muster's namespace, unless the configuration's `namespace` sets another one.
std::string surrounding_namespace(const ServeFlags& flags) {
  if (!flags.own_namespace.empty()) return flags.own_namespace;
  const char* pod_namespace = std::getenv("POD_NAMESPACE");
  return pod_namespace && *pod_namespace ? pod_namespace : std::string(manifests::kDefaultNamespace);
}

int cannot_start(const std::string& why) {
  std::cerr << "muster serve: " << why << "\n";
  return 1;
}

}  // namespace

int serve(const ServeFlags& flags) {
  runtime::refuse_core_dumps();
  auto settings = runtime::load_settings(flags.settings, surrounding_namespace(flags));
  if (!settings) return cannot_start(settings.error().message);
  const MusterConfiguration& muster = settings->configuration.muster;
  const LogFormat terminal_format = isatty(STDERR_FILENO) ? LogFormat::kText : LogFormat::kJson;
  runtime::set_up_log(muster.log_format.value_or(terminal_format), flags.log_level);
  runtime::log_info("muster starts", {{"version", runtime::kVersion}, {"commit", runtime::kCommit}});
  for (const std::string& note : flags.notes) runtime::log_info("flag without effect", {{"message", note}});
  for (const std::string& warning : settings->warnings) runtime::log_warning("configuration", {{"warning", warning}});
  if (auto idle = not_acting_yet(settings->configuration.kueue); !idle.empty()) {
    runtime::log_warning("these settings are recognized but not implemented and have no effect", {{"settings", idle}});
  }
  const FeatureGateMap named = settings->configuration.kueue.feature_gates.value_or(FeatureGateMap{});
  for (const std::string& sentence : outdated_gates(named))
    runtime::log_warning("configuration", {{"warning", sentence}});
  if (auto gates = only_validating(settings->configuration.kueue); !gates.empty()) {
    runtime::log_warning(
        "these feature gates only validate: what belongs to the feature is checked, and does not act yet",
        {{"settings", gates}});
  }

  // Blocked before any thread starts, so that only this thread receives them.
  const sigset_t ends = block_signals({SIGTERM, SIGINT, kGaveUp});

  if (auto checked = runtime::check(settings->configuration.kueue.leader_election); !checked)
    return cannot_start(checked.error().message);
  ServeProcess process(flags, std::move(*settings));
  if (auto started = process.start(); !started) return cannot_start(started.error().message);
  int received = 0;
  do {
    sigwait(&ends, &received);
    if (const std::string why = process.gave_up(); !why.empty()) return cannot_start(why);
  } while (received == kGaveUp);
  runtime::log_info("stopping", {{"signal", received == SIGTERM ? "SIGTERM" : "SIGINT"}});
  process.stop();
  runtime::log_info("stopped");
  return 0;
}

}  // namespace muster::commands
