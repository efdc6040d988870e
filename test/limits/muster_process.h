// `muster serve`, the binary that is shipped, as a separate process, standalone or with an API server that a test
// plays; in a control group with a memory limit where one is wanted.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "test/server/test_client.h"
#include "test/support/temporary_folder.h"

namespace muster::test {

inline constexpr int kWorkers = 2;

// A separate group, of version 1 or 2; it goes with this object.
class ControlGroup {
 public:
  explicit ControlGroup(size_t limit) {
    const std::string name = "muster-test-" + std::to_string(getpid());
    const bool first = std::filesystem::exists("/sys/fs/cgroup/memory");
    const std::filesystem::path folder = (first ? "/sys/fs/cgroup/memory/" : "/sys/fs/cgroup/") + name;
    std::error_code error;
    if (!std::filesystem::create_directory(folder, error)) return;
    path_ = folder;
    usable_ = write(first ? "memory.limit_in_bytes" : "memory.max", std::to_string(limit));
    // Swap would hide what is asked for.
    if (first)
      write("memory.memsw.limit_in_bytes", std::to_string(limit));
    else
      write("memory.swap.max", "0");
  }
  ~ControlGroup() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove(path_, error);
  }
  bool usable() const { return usable_; }
  bool enter() const { return write("cgroup.procs", std::to_string(getpid())); }

 private:
  bool write(const char* file, const std::string& text) const {
    std::ofstream stream(path_ / file);
    stream << text << std::flush;
    return stream.good();
  }
  std::filesystem::path path_;
  bool usable_ = false;
};

// `muster serve` in a group.
class Muster {
 public:
  static constexpr uid_t kUnprivileged = 65532;

  // `user` counts where this process is root's; no other user can choose. `configuration` is the text of
  // its file; empty: none. `api_server`: the URL of one that answers without credentials; empty: --standalone. With an
  // API server the test says what it waits for.
  explicit Muster(const ControlGroup* group = nullptr, uid_t user = 0, const std::string& configuration = "",
                  const std::string& api_server = "") {
    const std::string log = folder_ / "log", certificates = folder_ / "certs", workers = std::to_string(kWorkers),
                      config = configuration.empty() ? "" : folder_.write("config.yaml", configuration),
                      access = api_server.empty() ? "--standalone" : "--kubeconfig=" + write_access(api_server);
    const bool other_user = user != 0 && geteuid() == 0;
    if (other_user) REQUIRE(chown(folder_.path().c_str(), user, user) == 0);
    // Opened here: the build folder can be closed to that user.
    const int binary = open(MUSTER_BINARY, O_RDONLY | O_CLOEXEC);
    pid_ = fork();
    if (pid_ == 0) {
      if ((group && !group->enter()) || freopen(log.c_str(), "w", stderr) == nullptr) _exit(3);
      if (other_user && (setgid(user) != 0 || setuid(user) != 0)) _exit(5);
      const char* const arguments[] = {MUSTER_BINARY,
                                       "serve",
                                       access.c_str(),
                                       "--workers",
                                       workers.c_str(),
                                       "--log-format",
                                       "json",
                                       "--webhook-bind-address",
                                       "127.0.0.1:0",
                                       "--health-probe-bind-address",
                                       "0",
                                       "--metrics-bind-address",
                                       "0",
                                       "--cert-dir",
                                       certificates.c_str(),
                                       config.empty() ? nullptr : "--config",
                                       config.c_str(),
                                       nullptr};
      fexecve(binary, const_cast<char* const*>(arguments), environ);
      _exit(4);
    }
    close(binary);
    if (!api_server.empty()) return;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!serving() && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    REQUIRE(serving());
  }
  ~Muster() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  uint16_t port() const { return port_; }
  pid_t pid() const { return pid_; }
  bool alive() const { return waitpid(pid_, nullptr, WNOHANG) == 0; }
  // What it has written so far.
  std::string log() const { return folder_.read("log"); }
  // "VmRSS" or "VmHWM", the most so far.
  size_t bytes(const std::string& which) const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(which + ":")) return std::stoul(line.substr(which.size() + 1)) * 1024;
    }
    return 0;
  }

 private:
  std::string write_access(const std::string& api_server) {
    return folder_.write("kubeconfig",
                         "apiVersion: v1\nkind: Config\nclusters: [{name: c, cluster: {server: \"" + api_server +
                             "\"}}]\nusers: [{name: u, user: {}}]\n"
                             "contexts: [{name: x, context: {cluster: c, user: u}}]\ncurrent-context: x\n");
  }
  bool serving() {
    const std::string all = log(), mark = "\"webhook\":";
    const size_t at = all.find(mark);
    if (at == std::string::npos || all.find("serving with a new certificate") == std::string::npos) return false;
    port_ = static_cast<uint16_t>(std::stoi(all.substr(at + mark.size())));
    return true;
  }

  const TemporaryFolder folder_;
  pid_t pid_ = -1;
  uint16_t port_ = 0;
};

}  // namespace muster::test
