#include "kube/transport/process.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string_view>

namespace muster::kube {
namespace {

constexpr size_t kQuotedErrorBytes = 400;
constexpr size_t kMaxErrorBytes = 64 * 1024;
constexpr int kPollMilliseconds = 20;

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) ends_[0] = ends_[1] = -1;
    if (ends_[0] >= 0) ::fcntl(ends_[0], F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  bool ok() const { return ends_[0] >= 0; }
  int reader() const { return ends_[0]; }
  int writer() const { return ends_[1]; }
  void close_writer() { close_end(1); }

  // Appends the available output while `text` is not larger than `limit`: a program that never stops printing
  // must not block this loop.
  void drain(std::string& text, size_t limit) {
    char buffer[4096];
    while (text.size() <= limit) {
      const ssize_t size = ::read(ends_[0], buffer, sizeof buffer);
      if (size <= 0) return;
      text.append(buffer, static_cast<size_t>(size));
    }
  }

 private:
  void close_end(int end) {
    if (ends_[end] >= 0) ::close(ends_[end]);
    ends_[end] = -1;
  }
  int ends_[2] = {-1, -1};
};

std::vector<std::string> merged_environment(const ProcessCall& call) {
  std::vector<std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view variable = *entry;
    const auto name = variable.substr(0, variable.find('='));
    const bool replaced =
        std::any_of(call.env.begin(), call.env.end(), [&](const auto& own) { return own.first == name; });
    if (!replaced) variables.emplace_back(variable);
  }
  for (const auto& [name, value] : call.env) variables.push_back(name + "=" + value);
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (auto& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

// 0, or the errno of the failure.
int spawn(const ProcessCall& call, const Pipe& out, const Pipe& err, pid_t& pid) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out.writer(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.writer(), STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<std::string> arguments{call.command};
  arguments.insert(arguments.end(), call.args.begin(), call.args.end());
  std::vector<std::string> variables = merged_environment(call);
  const int error = ::posix_spawnp(&pid, call.command.c_str(), &actions, &attributes, pointers(arguments).data(),
                                   pointers(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

std::string tail(const std::string& text) {
  std::string end = text.size() > kQuotedErrorBytes ? "..." + text.substr(text.size() - kQuotedErrorBytes) : text;
  while (!end.empty() && (end.back() == '\n' || end.back() == ' ')) end.pop_back();
  return end;
}

}  // namespace

Result<std::string> run_process(const ProcessCall& call, const Clock& clock) {
  Pipe out;
  Pipe err;
  if (!out.ok() || !err.ok()) return fail("cannot run " + call.command + ": " + std::strerror(errno));
  pid_t pid = -1;
  if (const int error = spawn(call, out, err, pid); error != 0) {
    return fail("cannot run " + call.command + ": " + std::strerror(error));
  }
  out.close_writer();
  err.close_writer();

  std::string output;
  std::string complaints;
  int status = 0;
  std::optional<std::string> killed_because;
  const MonotonicTime deadline = clock.now().monotonic + call.timeout;
  // The end of the process counts, not the end of the output: a child of the process can keep the output open.
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    pollfd pipes[] = {{out.reader(), POLLIN, 0}, {err.reader(), POLLIN, 0}};
    ::poll(pipes, 2, kPollMilliseconds);
    // A closed pipe is always ready; without this pause the loop would spin until the exit.
    if ((pipes[0].revents | pipes[1].revents) & POLLHUP) ::poll(nullptr, 0, kPollMilliseconds);
    out.drain(output, call.max_output_bytes);
    err.drain(complaints, kMaxErrorBytes);
    if (complaints.size() > 2 * kQuotedErrorBytes) complaints.erase(0, complaints.size() - kQuotedErrorBytes - 1);
    if (output.size() > call.max_output_bytes)
      killed_because = "printed more than " + std::to_string(call.max_output_bytes) + " bytes";
    if (clock.now().monotonic >= deadline) {
      const auto seconds = std::chrono::duration<double>(call.timeout).count();
      killed_because = "did not finish within " + std::to_string(seconds).substr(0, 5) + " s and was killed";
    }
    if (killed_because) {
      ::kill(-pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      break;
    }
  }
  out.drain(output, call.max_output_bytes);
  err.drain(complaints, kMaxErrorBytes);
  const std::string said = complaints.empty() ? "" : ": " + tail(complaints);
  if (killed_because) return fail(call.command + " " + *killed_because + said);
  if (WIFSIGNALED(status))
    return fail(call.command + " was ended by signal " + std::to_string(WTERMSIG(status)) + said);
  if (WEXITSTATUS(status) != 0)
    return fail(call.command + " exited with " + std::to_string(WEXITSTATUS(status)) + said);
  return output;
}

}  // namespace muster::kube
