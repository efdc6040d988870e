#include "commands/agent/worker.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

namespace muster::agent {
namespace {

// Its own process group, no blocked signals, and SIGPIPE with its default: the agent blocks those that it waits for,
// and ignores SIGPIPE.
class SpawnAttributes {
 public:
  SpawnAttributes() {
    sigset_t none;
    sigset_t ignored;
    sigemptyset(&none);
    sigemptyset(&ignored);
    sigaddset(&ignored, SIGPIPE);
    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &ignored);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnAttributes() { posix_spawnattr_destroy(&attributes_); }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;

  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

int code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Outcome<> Worker::start(const std::string& shell, const std::string& command, std::function<void(int code)> ended) {
  std::string name = shell, option = "-c", text = command;
  const std::array<char*, 4> arguments = {name.data(), option.data(), text.data(), nullptr};
  const SpawnAttributes attributes;
  pid_t started = 0;
  if (const int error = posix_spawn(&started, shell.c_str(), nullptr, attributes.get(), arguments.data(), environ);
      error != 0)
    return fail("the worker cannot be started by " + shell + ": " + std::strerror(error) +
                "; WORKER_COMMAND needs an image with a shell (SHELL, or /bin/sh) and this agent in it");
  group_ = started;
  std::thread([this, started, ended = std::move(ended)] {
    int status = 0;
    while (waitpid(started, &status, 0) < 0 && errno == EINTR) {
    }
    group_ = 0;
    ended(code_of(status));
  }).detach();
  return Done{};
}

bool Worker::send(int signal) const {
  const pid_t group = group_;
  return group != 0 && ::kill(-group, signal) == 0;
}

}  // namespace muster::agent
