// The command line: subcommands and their flags.
#pragma once

namespace muster {

// Parses and runs; returns the exit code. 2 for a wrong command line.
int run_command_line(int argc, char** argv);

}  // namespace muster
