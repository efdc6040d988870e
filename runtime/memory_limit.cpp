#include "runtime/memory_limit.h"

#include <malloc.h>
#include <mimalloc.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "base/mutex.h"

// Only the product is linked to mimalloc (CMakeLists.txt); tests and sanitizers are not.
#pragma weak mi_collect
#pragma weak mi_option_get
#pragma weak mi_option_set

namespace muster::runtime {
namespace {

namespace fs = std::filesystem;

// Version 1 says "no limit" as a number near 2^63.
constexpr size_t kNoLimit = size_t{1} << 60;

std::optional<size_t> read_limit(const fs::path& file) {
  std::ifstream stream(file);
  size_t bytes = 0;
  if (!(stream >> bytes) || bytes >= kNoLimit) return std::nullopt;  // "max" is no number
  return bytes;
}

// Of the group and of all around it, up to `mount`: each of them can have a lower limit.
std::optional<size_t> least_limit(const fs::path& mount, fs::path group, const char* file) {
  std::optional<size_t> least;
  for (;; group = group.parent_path()) {
    if (const auto limit = read_limit(mount / group.relative_path() / file)) {
      least = std::min(*limit, least.value_or(*limit));
    }
    if (!group.has_relative_path()) return least;
  }
}

bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

}  // namespace

std::optional<size_t> memory_limit(const fs::path& root) {
  std::optional<size_t> least;
  std::ifstream groups(root / "proc/self/cgroup");
  // "0::/a/b" of version 2, "4:memory:/a/b" of version 1.
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const fs::path group = line.substr(second + 1);
    const fs::path mount = root / "sys/fs/cgroup";
    std::optional<size_t> limit;
    if (controllers.empty()) limit = least_limit(mount, group, "memory.max");
    if (has_word(controllers, "memory")) limit = least_limit(mount / "memory", group, "memory.limit_in_bytes");
    if (limit) least = std::min(*limit, least.value_or(*limit));
  }
  return least;
}

void release_free_memory() {
  if (&mi_collect == nullptr) {
    // If a sanitizer or a preloaded allocator replaces malloc, the first call makes glibc's own malloc ready, and glibc
    // stops the process if two threads do that at once.
    static Mutex mutex;
    const MutexLock lock(mutex);
    malloc_trim(0);
    return;
  }
  // Memory that the allocator would return later is returned now. The option is one number for all threads,
  // read and written as one; another thread can return a few pages early.
  static const long delay = mi_option_get(mi_option_decommit_delay);
  mi_option_set(mi_option_decommit_delay, 0);
  mi_collect(true);
  mi_option_set(mi_option_decommit_delay, delay);
}

}  // namespace muster::runtime
