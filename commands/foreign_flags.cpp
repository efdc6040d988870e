#include "commands/foreign_flags.h"

#include <CLI/CLI.hpp>

namespace muster::commands {
namespace {

struct ForeignFlag {
  const char* name;
  bool is_switch;
  const char* instead;
};

constexpr const char* kLogLevel = "--log-level acts instead (debug, info, warning, error)";
constexpr const char* kLogForm = "--log-format acts instead (text, json)";
constexpr const char* kNothing = "muster has no such setting";

constexpr ForeignFlag kFlags[] = {
    {"--leader-elect", true, "leaderElection.leaderElect of the Configuration acts instead (default: true)"},
    {"--kube-api-qps", false, "clientConnection.qps of the Configuration acts instead"},
    {"--kube-api-burst", false, "clientConnection.burst of the Configuration acts instead"},
    {"--zap-log-level", false, kLogLevel},
    {"--zap-devel", true, kLogForm},
    {"--zap-encoder", false, kLogForm},
    {"--zap-stacktrace-level", false, kNothing},
    {"--zap-time-encoding", false, kNothing},
};

}  // namespace

void add_foreign_flags(CLI::App& command, std::vector<std::string>& notes) {
  for (const ForeignFlag& flag : kFlags) {
    const auto note = [&notes, &flag] { notes.push_back(std::string(flag.name) + " has no effect: " + flag.instead); };
    if (flag.is_switch)
      command.add_flag_function(flag.name, [note](int64_t) { note(); })->group("");
    else
      command.add_option_function<std::string>(flag.name, [note](const std::string&) { note(); })
          ->take_last()
          ->group("");
  }
}

}  // namespace muster::commands
