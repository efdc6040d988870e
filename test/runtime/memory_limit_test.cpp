#include "runtime/memory_limit.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <string>

using namespace muster;
using namespace muster::runtime;

namespace {

namespace fs = std::filesystem;

// The files of a kernel, in a folder.
class Kernel {
 public:
  Kernel() { fs::create_directories(root); }
  ~Kernel() { fs::remove_all(root); }
  void file(const std::string& path, const std::string& text) const {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  }
  const fs::path root = fs::temp_directory_path() / ("memory_limit_test." + std::to_string(getpid()));
};

constexpr size_t kMiB = 1024 * 1024;

}  // namespace

TEST_CASE("The memory limit is that of the container's control group, version 2") {
  Kernel kernel;
  kernel.file("proc/self/cgroup", "0::/\n");
  kernel.file("sys/fs/cgroup/memory.max", "268435456\n");
  CHECK(memory_limit(kernel.root) == 256 * kMiB);
}

TEST_CASE("The lowest limit of all groups around the process holds") {
  Kernel kernel;
  kernel.file("proc/self/cgroup", "0::/pods/muster\n");
  kernel.file("sys/fs/cgroup/pods/muster/memory.max", "max\n");
  kernel.file("sys/fs/cgroup/pods/memory.max", "104857600\n");
  kernel.file("sys/fs/cgroup/memory.max", "209715200\n");
  CHECK(memory_limit(kernel.root) == 100 * kMiB);
}

TEST_CASE("The memory limit of version 1 is read") {
  Kernel kernel;
  kernel.file("proc/self/cgroup", "9:cpu,cpuacct:/a\n4:memory:/a/b\n0::/\n");
  kernel.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  kernel.file("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "268435456\n");
  CHECK(memory_limit(kernel.root) == 256 * kMiB);
}

TEST_CASE("Where nothing is limited there is no limit") {
  Kernel kernel;
  CHECK_FALSE(memory_limit(kernel.root));
  kernel.file("proc/self/cgroup", "0::/\n");
  kernel.file("sys/fs/cgroup/memory.max", "max\n");
  CHECK_FALSE(memory_limit(kernel.root));
}
