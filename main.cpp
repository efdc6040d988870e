#include "commands/cli.h"

int main(int argc, char** argv) {
  return muster::run_command_line(argc, argv);
}
