#include "base/boot_clock.h"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

namespace boot_clock_test {

using namespace muster;
using namespace std::chrono_literals;

// In a time namespace that has slept for a day since the machine began, as a process sees it after a
// suspension: the clocks of its children differ by that day (time_namespaces(7)).
TEST_CASE("boot clock: the time of a suspension passes for a Lease") {
  if (geteuid() != 0) {
    MESSAGE("[skipped] only root can make a time namespace");
    return;
  }
  const pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWTIME) != 0) _exit(2);
    std::ofstream("/proc/self/timens_offsets") << "boottime 86400 0\n";
    const Duration boot = boot_clock().now().monotonic.time_since_epoch();
    const Duration running = system_clock().now().monotonic.time_since_epoch();
    const pid_t inner = fork();
    if (inner == 0) {
      const Duration slept = boot_clock().now().monotonic.time_since_epoch() - boot;
      const Duration ran = system_clock().now().monotonic.time_since_epoch() - running;
      _exit(slept >= 24h && slept < 25h && ran < 1h ? 0 : 3);
    }
    int status = -1;
    waitpid(inner, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 4);
  }
  int status = -1;
  REQUIRE(waitpid(outer, &status, 0) == outer);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace boot_clock_test
