// Signals that end a process, taken by the one thread that waits for them.
#pragma once

#include <csignal>
#include <initializer_list>

namespace muster::commands {

// Blocks these signals in the calling thread and in all threads that it starts from now on; they are then taken by
// sigwait. To be called before the first thread starts.
sigset_t block_signals(std::initializer_list<int> signals);

}  // namespace muster::commands
