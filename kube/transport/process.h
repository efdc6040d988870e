// Runs a program and takes what it prints, within a time and a size.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace muster::kube {

struct ProcessCall {
  std::string command;  // a name on PATH, or a path
  std::vector<std::string> args;
  std::vector<std::pair<std::string, std::string>> env;  // added to muster's own environment
  Duration timeout{};
  size_t max_output_bytes = 1024 * 1024;
};

// The program's standard output, once it has exited with 0. It has no standard input
// and inherits no descriptor and no ignored signal. On failure the error holds the end
// of its standard error. After the timeout it is killed with all that it started.
// Blocks the calling thread; `clock` must run.
Result<std::string> run_process(const ProcessCall& call, const Clock& clock);

}  // namespace muster::kube
