#include "runtime/memory_limit.h"

#include <doctest/doctest.h>

#include "test/support/temporary_folder.h"

namespace memory_limit_test {

using namespace muster;
using namespace muster::runtime;

namespace {

// The files of a kernel are in a folder.
using Kernel = test::TemporaryFolder;

constexpr size_t kMiB = 1024 * 1024;

}  // namespace

TEST_CASE("The memory limit is that of the container's control group, version 2") {
  Kernel kernel;
  kernel.write("proc/self/cgroup", "0::/\n");
  kernel.write("sys/fs/cgroup/memory.max", "268435456\n");
  CHECK(memory_limit(kernel.path()) == 256 * kMiB);
}

TEST_CASE("The lowest limit of all groups around the process holds") {
  Kernel kernel;
  kernel.write("proc/self/cgroup", "0::/pods/muster\n");
  kernel.write("sys/fs/cgroup/pods/muster/memory.max", "max\n");
  kernel.write("sys/fs/cgroup/pods/memory.max", "104857600\n");
  kernel.write("sys/fs/cgroup/memory.max", "209715200\n");
  CHECK(memory_limit(kernel.path()) == 100 * kMiB);
}

TEST_CASE("The memory limit of version 1 is read") {
  Kernel kernel;
  kernel.write("proc/self/cgroup", "9:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n");
  kernel.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  kernel.write("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "268435456\n");
  CHECK(memory_limit(kernel.path()) == 256 * kMiB);
}

TEST_CASE("Where nothing is limited there is no limit") {
  Kernel kernel;
  CHECK_FALSE(memory_limit(kernel.path()));
  kernel.write("proc/self/cgroup", "0::/\n");
  kernel.write("sys/fs/cgroup/memory.max", "max\n");
  CHECK_FALSE(memory_limit(kernel.path()));
}

}  // namespace memory_limit_test
