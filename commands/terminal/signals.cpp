#include "commands/terminal/signals.h"

#include <pthread.h>

namespace muster::commands {

sigset_t block_signals(std::initializer_list<int> signals) {
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int signal : signals) sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  return blocked;
}

}  // namespace muster::commands
