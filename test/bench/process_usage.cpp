#include "test/bench/process_usage.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

extern char** environ;

namespace muster::bench {

std::chrono::nanoseconds cpu_time(pid_t pid) {
  long long total = 0;
  std::error_code ignored;
  for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored)) {
    std::ifstream file(task.path() / "schedstat");
    long long nanoseconds = 0;
    if (file >> nanoseconds) total += nanoseconds;
  }
  return std::chrono::nanoseconds(total);
}

double resident_mib(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / (1024 * 1024);
}

PortedChild::PortedChild(const char* program) {
  std::error_code ignored;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path() / program;
  int ends[2];
  if (::pipe(ends) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  std::string name = path.string();
  char* const arguments[] = {name.data(), nullptr};
  if (posix_spawn(&pid_, name.c_str(), &actions, nullptr, arguments, environ) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  FILE* output = ::fdopen(ends[0], "r");
  if (pid_ < 0 || std::fscanf(output, "%d", &port_) != 1) port_ = 0;
  std::fclose(output);
}

PortedChild::~PortedChild() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

}  // namespace muster::bench
