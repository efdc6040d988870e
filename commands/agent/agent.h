// The agent of in-place restarts: a sidecar, or the main container, that runs in each pod of a JobSet with
// failurePolicy.restartStrategy: InPlaceRestart. It watches its JobSet, writes one annotation of its pod
// (jobset.sigs.k8s.io/in-place-restart-attempt), and holds the containers after it back by its startup probe until all
// pods of the JobSet have come to the same attempt. docs/in-place-restart.md; environment, annotation and exit codes
// are those of JobSet's agent (kubernetes-sigs/jobset, cmd/in-place-restart-agent).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "kube/api.h"
#include "kube/transport/timing.h"

namespace muster::agent {

struct AgentOptions {
  std::string ns;
  std::string jobset;
  std::string pod;
  std::string probe_path = "/barrier-is-down";
  uint16_t probe_port = 8081;
  int restart_exit_code = 1;
  // What the shell runs when the workers can start; empty: the agent is a sidecar, and answers a startup probe.
  std::string worker_command{};
  std::string shell = "/bin/sh";
};

// `environment` reads one variable, nullopt when unset. The error names the variable.
Result<AgentOptions> read_options(const std::function<std::optional<std::string>(const char*)>& environment);

// One line for the log of the container. Called from two threads.
using Say = std::function<void(const std::string& line)>;

// One agent. Blocks until the containers are to restart, and returns the exit code for that; 0 if `stop` was requested
// first. `open` is called once, when the workers can start. An API server that does not answer changes nothing: the
// agent asks again.
int run_agent(kube::KubeApi& api, const AgentOptions& options, const kube::Timing& timing,
              const std::function<void()>& open, const Say& say, std::stop_token stop);

// The process: credentials of the pod, the endpoint of the startup probe, signals. Exit code 2: it was given wrong or
// missing variables; 128 and the signal's number: it was stopped.
int run_agent_process(const Say& say);

}  // namespace muster::agent
