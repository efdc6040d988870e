#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "test/limits/muster_process.h"

using namespace muster::test;

TEST_CASE("No core dump carries the keys of the process to a disk, and no process of its user reads them") {
  // Of root's processes the kernel shows no difference.
  const Muster muster(nullptr, Muster::kUnprivileged);
  const std::string process = "/proc/" + std::to_string(muster.pid());
  std::ifstream limits(process + "/limits");
  bool seen = false;
  for (std::string line; std::getline(limits, line);) {
    if (!line.starts_with("Max core file size")) continue;
    seen = true;
    // Both are 0, so that it cannot be raised again.
    CHECK(line.find_first_not_of(" 0", std::string("Max core file size").size()) == line.find("bytes"));
  }
  CHECK(seen);
  // The memory of what makes no dumps belongs to root, whoever runs it (proc(5)).
  struct stat folder {};
  struct stat memory {};
  REQUIRE(stat(process.c_str(), &folder) == 0);
  REQUIRE(stat((process + "/mem").c_str(), &memory) == 0);
  CHECK(folder.st_uid != 0);
  CHECK(memory.st_uid == 0);
}
