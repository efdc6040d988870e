#include "commands/cli.h"

int main(int argc, char** argv) {
  return muster::commands::run_command_line(argc, argv);
}
