// muster-wait: the init container that holds a pod until its whole group has started (KEP-498). The files that
// it reads, and its exit codes: jobs/group_scheduling.h.
//
// It runs in users' pods with no shell, no libraries and no rights, so it is static,
// allocates nothing and polls two small files.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "base/whole_number.h"
#include "commands/wait/verdict.h"
#include "commands/wait/watched_file.h"

namespace muster::wait {
namespace {

constexpr long kPollNanoseconds = 100'000'000;
constexpr int kPollsBetweenForcedReads = 50;

struct Options {
  const char* dir = nullptr;
  int64_t timeout_seconds = 0;
  int64_t grace_seconds = kGraceSeconds;
  const char* termination_log = "/dev/termination-log";
};

// For the log, and for `kubectl describe pod`: the kubelet reads the termination message from a file that the
// kubelet has created. If the file does not exist, it is not created.
void say(const Options& options, const char* message) {
  std::fprintf(stderr, "muster-wait: %s\n", message);
  const int log = ::open(options.termination_log, O_WRONLY | O_TRUNC | O_CLOEXEC);
  if (log < 0) return;
  if (::write(log, message, std::strlen(message)) < 0) std::perror("muster-wait: termination message");
  ::close(log);
}

// The value of `--name=value` or `--name value`, advancing `i` in the latter case.
const char* value_of(const char* name, char** arguments, int count, int& i) {
  const size_t length = std::strlen(name);
  if (std::strncmp(arguments[i], name, length) != 0) return nullptr;
  if (arguments[i][length] == '=') return arguments[i] + length + 1;
  if (arguments[i][length] == '\0' && i + 1 < count) return arguments[++i];
  return nullptr;
}

bool parse_seconds(const char* text, int64_t least, int64_t& seconds) {
  const auto number = muster::whole_number<int32_t>(text);
  if (!number || *number < least) return false;
  seconds = *number;
  return true;
}

bool parse(int count, char** arguments, Options& options) {
  for (int i = 1; i < count; ++i) {
    if (const char* dir = value_of("--dir", arguments, count, i)) {
      options.dir = dir;
    } else if (const char* timeout = value_of("--timeout-seconds", arguments, count, i)) {
      if (!parse_seconds(timeout, 1, options.timeout_seconds)) return false;
    } else if (const char* grace = value_of("--grace-seconds", arguments, count, i)) {
      if (!parse_seconds(grace, 0, options.grace_seconds)) return false;
    } else if (const char* log = value_of("--termination-log", arguments, count, i)) {
      options.termination_log = log;
    } else {
      return false;
    }
  }
  return options.dir != nullptr && options.timeout_seconds > 0;
}

// The run's token from the environment; false, naming the variable, when a part is
// missing or empty. A token with an empty part could name another run.
bool make_token(const Options& options, char* token, size_t size) {
  char message[256];
  size_t length = 0;
  for (const char* name : {"MUSTER_OWNER_UID", "MUSTER_RESTART_ATTEMPT", "MUSTER_EPOCH"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') {
      std::snprintf(message, sizeof(message),
                    "%s is empty: this pod lacks the label or annotation behind it, so its group is unknown; "
                    "was it made by a Job or JobSet that muster has seen?",
                    name);
      say(options, message);
      return false;
    }
    const int added = std::snprintf(token + length, size - length, "%s%s", length == 0 ? "" : "/", value);
    if (added < 0 || static_cast<size_t>(added) >= size - length) {
      say(options, "the token of this run is too long");
      return false;
    }
    length += static_cast<size_t>(added);
  }
  return true;
}

int64_t seconds_now() {
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec;
}

// Sleeps until the next poll; false when the pod is being stopped. Signals have no default action for process
// 1, but it can wait for blocked signals.
bool sleep_unless_stopped(const sigset_t& stop) {
  const struct timespec pause { .tv_sec = 0, .tv_nsec = kPollNanoseconds };
  return ::sigtimedwait(&stop, nullptr, &pause) < 0;
}

int conclude(const Options& options, Verdict verdict, int64_t waited) {
  char message[320];
  const auto timeout = static_cast<long long>(options.timeout_seconds);
  switch (verdict) {
    case Verdict::kStarted:
      std::snprintf(message, sizeof(message), "the group has started, after %lld s here",
                    static_cast<long long>(waited));
      say(options, message);
      return 0;
    case Verdict::kExpired:
      std::snprintf(message, sizeof(message),
                    "GroupSchedulingTimeout: the group timed out after %lld s because not all of its pods started; see "
                    "the events of the Job or JobSet for the missing pods",
                    timeout);
      break;
    case Verdict::kAbandoned:
    case Verdict::kWaiting:
      std::snprintf(message, sizeof(message),
                    "no decision arrived within %lld s, %lld s after the timeout; check that muster is running and can "
                    "write ConfigMaps in this namespace",
                    static_cast<long long>(waited), static_cast<long long>(options.grace_seconds));
      break;
  }
  say(options, message);
  return 1;
}

int run(int count, char** arguments) {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  ::sigprocmask(SIG_BLOCK, &stop, nullptr);

  Options options;
  if (!parse(count, arguments, options)) {
    say(options, "usage: muster-wait --dir DIR --timeout-seconds N [--grace-seconds N] [--termination-log FILE]");
    return 2;
  }
  char token[512];
  if (!make_token(options, token, sizeof(token))) return 2;
  struct stat directory {};
  if (::stat(options.dir, &directory) != 0 || !S_ISDIR(directory.st_mode)) {
    say(options, "--dir is not a directory: the volume group-scheduling is not mounted there");
    return 2;
  }
  char started_path[4096], expired_path[4096];
  std::snprintf(started_path, sizeof(started_path), "%s/started", options.dir);
  std::snprintf(expired_path, sizeof(expired_path), "%s/expired", options.dir);

  static WatchedFile started, expired;
  std::fprintf(stderr, "muster-wait: waiting for the group of run %s\n", token);
  const int64_t begin = seconds_now();
  for (int poll = 0;; poll = (poll + 1) % kPollsBetweenForcedReads) {
    const int64_t waited = seconds_now() - begin;
    const Verdict verdict = judge(started.read(started_path, poll == 0), expired.read(expired_path, poll == 0), token,
                                  waited, options.timeout_seconds + options.grace_seconds);
    if (verdict != Verdict::kWaiting) return conclude(options, verdict, waited);
    if (!sleep_unless_stopped(stop)) {
      say(options, "stopped while waiting for the group");
      return 143;
    }
  }
}

}  // namespace
}  // namespace muster::wait

int main(int count, char** arguments) {
  return muster::wait::run(count, arguments);
}
