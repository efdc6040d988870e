#include "runtime/core_dumps.h"

#include <doctest/doctest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace core_dumps_test {

TEST_CASE("core dumps: both ways to a dump are closed, and the limit cannot be raised again") {
  // In a separate process: there is no way back.
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_DUMPABLE, 1);
    muster::runtime::refuse_core_dumps();
    rlimit limit{1, 1};
    if (getrlimit(RLIMIT_CORE, &limit) != 0 || limit.rlim_cur != 0 || limit.rlim_max != 0) _exit(1);
    if (prctl(PR_GET_DUMPABLE) != 0) _exit(2);
    _exit(0);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace core_dumps_test
