#include <csignal>

#include "commands/cli.h"

int main(int argc, char** argv) {
  // A write to a closed socket or pipe is an error, not the end of the process: OpenSSL writes without MSG_NOSIGNAL.
  std::signal(SIGPIPE, SIG_IGN);
  return muster::commands::run_command_line(argc, argv);
}
