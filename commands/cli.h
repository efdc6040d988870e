// The command line: subcommands and their flags.
#pragma once

#include <string>
#include <vector>

#include "commands/review/review.h"

namespace muster::commands {

// Parses and runs; returns the exit code. 2 for a wrong command line, with a sentence about what is wrong.
int run_command_line(int argc, char** argv);

// The same with the arguments behind the program's name, and the streams to use.
int run_command_line(const std::vector<std::string>& arguments, ReviewStreams streams);

}  // namespace muster::commands
