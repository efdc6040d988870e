// The worker of a pod whose main container is the agent (WORKER_COMMAND): a command of a shell, in a separate process
// group, so that a signal reaches what it has started as well.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <functional>
#include <string>

#include "base/result.h"

namespace muster::agent {

// Thread-safe after start(). Lives as long as the process: its thread waits for the worker.
class Worker {
 public:
  // `ended` is called once, on a separate thread, with the exit code, or with 128 and the number of the signal that
  // ended it.
  Outcome<> start(const std::string& shell, const std::string& command, std::function<void(int code)> ended);
  // Whether there was a worker to send it to.
  bool send(int signal) const;

 private:
  std::atomic<pid_t> group_ = 0;  // 0: not started, or ended
};

}  // namespace muster::agent
