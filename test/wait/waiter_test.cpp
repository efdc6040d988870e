// The waiter as users' pods run it: a process, in both its forms. Each row runs with
// muster-wait and with the shell loop under every shell of this machine, so that the
// two stay equivalent.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "mutators/waiter_container.h"
#include "test/support/temporary_folder.h"

namespace muster {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

const Environment kRun = {
    {"MUSTER_OWNER_UID", "uid"}, {"MUSTER_RESTART_ATTEMPT", "0"}, {"MUSTER_EPOCH", "e1"}, {"PATH", "/usr/bin:/bin"}};

struct Form {
  std::string name;
  Words command;
};

std::vector<Form> forms() {
  std::vector<Form> all = {{"muster-wait", {MUSTER_WAIT}}};
  const std::string loop(mutators::waiter_shell_loop());
  for (const char* shell : {"/bin/sh", "/bin/bash"}) {
    if (fs::exists(shell)) all.push_back({shell, {shell, "-c", loop, "muster-wait"}});
  }
  if (fs::exists("/bin/busybox")) all.push_back({"busybox sh", {"/bin/busybox", "sh", "-c", loop, "muster-wait"}});
  return all;
}

bool eventually(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::string content_of(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// A directory that is filled as the kubelet fills a ConfigMap volume: versions in separate directories, behind a link
// that is swapped.
class Volume {
 public:
  Volume() {
    fs::create_directory(mount());
    publish({});
    fs::create_symlink("..data/started", mount() / "started");
    fs::create_symlink("..data/expired", mount() / "expired");
  }

  void publish(const std::map<std::string, std::string>& files) {
    const std::string version = "..v" + std::to_string(++version_);
    fs::create_directory(mount() / version);
    for (const auto& [name, content] : files) std::ofstream(mount() / version / name) << content;
    fs::create_symlink(version, mount() / "..data_tmp");
    fs::rename(mount() / "..data_tmp", mount() / "..data");
  }
  fs::path mount() const { return root_.path() / "mount"; }
  fs::path log() const { return root_.path() / "stderr"; }

 private:
  const test::TemporaryFolder root_;
  int version_ = 0;
};

class Process {
 public:
  Process(const Words& words, const Environment& environment, const fs::path& log) {
    std::vector<std::string> variables;
    for (const auto& [name, value] : environment) variables.push_back(name + "=" + value);
    std::vector<char*> arguments, envp;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    for (const std::string& variable : variables) envp.push_back(const_cast<char*>(variable.c_str()));
    arguments.push_back(nullptr);
    envp.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      if (::freopen(log.c_str(), "w", stderr) == nullptr) ::_exit(126);
      ::execve(arguments[0], arguments.data(), envp.data());
      ::_exit(127);
    }
  }
  ~Process() {
    if (running()) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  bool running() {
    int status = 0;
    if (!exit_code_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
      exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    return !exit_code_;
  }
  // The exit code; nothing when it does not exit in time.
  std::optional<int> exit_code() {
    eventually([this] { return !running(); });
    return exit_code_;
  }
  // How often it has gone to sleep: each poll is at least one.
  long sleeps() const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("voluntary_ctxt_switches:")) return std::stol(line.substr(24));
    }
    return 0;
  }
  // Waits until it has polled some times more.
  bool polls_on() {
    const long before = sleeps();
    return eventually([&] { return !running() || sleeps() >= before + 4; }) && running();
  }
  void signal(int number) const { ::kill(pid_, number); }

 private:
  pid_t pid_;
  std::optional<int> exit_code_;
};

Words with_arguments(const Form& form, const fs::path& dir, const char* timeout, const char* grace = nullptr) {
  Words words = form.command;
  words.push_back("--dir=" + dir.string());
  words.push_back(std::string("--timeout-seconds=") + timeout);
  if (grace != nullptr) words.push_back(std::string("--grace-seconds=") + grace);
  return words;
}

bool is_waiting(Process& process, const Volume& volume) {
  return eventually([&] {
    return !process.running() ||
           content_of(volume.log()).find("waiting for the group of run uid/0/e1") != std::string::npos;
  });
}

struct Row {
  std::string name;
  std::map<std::string, std::string> first, then;  // `then` is published once it waits
  int exit_code;
  const char* says;
};

const Row kRows[] = {
    {"a run that has started already passes at once", {{"started", "uid/0/e1\n"}}, {}, 0, "the group has started"},
    {"a run that starts while it waits passes", {}, {{"started", "uid/0/e1\n"}}, 0, "the group has started"},
    {"an old run's token keeps the gate shut",
     {{"started", "uid/0/e0\nother/0/e1\nuid/0/e1x\n"}},
     {{"started", "uid/0/e0\nuid/0/e1"}},
     0,
     "the group has started"},
    {"an expired run fails and says so",
     {},
     {{"expired", "uid/0/e1\n"}},
     1,
     "GroupSchedulingTimeout: the group timed out"},
};

TEST_CASE("a waiter exits by the line that names its run") {
  for (const Form& form : forms()) {
    for (const Row& row : kRows) {
      INFO(form.name << ": " << row.name);
      Volume volume;
      volume.publish(row.first);
      Process process(with_arguments(form, volume.mount(), "300"), kRun, volume.log());
      if (!row.then.empty()) {
        CHECK(is_waiting(process, volume));
        CHECK(process.polls_on());
        volume.publish(row.then);
      }
      CHECK(process.exit_code() == row.exit_code);
      CHECK(content_of(volume.log()).find(row.says) != std::string::npos);
    }
  }
}

TEST_CASE("a waiter stops at once when its pod is stopped") {
  for (const Form& form : forms()) {
    INFO(form.name);
    Volume volume;
    Process process(with_arguments(form, volume.mount(), "300"), kRun, volume.log());
    CHECK(is_waiting(process, volume));
    process.signal(SIGTERM);
    CHECK(process.exit_code() == 143);
    CHECK(content_of(volume.log()).find("stopped while waiting") != std::string::npos);
  }
}

TEST_CASE("a waiter gives up by itself when nobody decides") {
  for (const Form& form : forms()) {
    INFO(form.name);
    Volume volume;
    Process process(with_arguments(form, volume.mount(), "1", "0"), kRun, volume.log());
    CHECK(process.exit_code() == 1);
    CHECK(content_of(volume.log()).find("no decision arrived") != std::string::npos);
  }
}

TEST_CASE("a waiter that cannot know its run refuses to guess") {
  for (const Form& form : forms()) {
    for (const char* variable : {"MUSTER_OWNER_UID", "MUSTER_RESTART_ATTEMPT", "MUSTER_EPOCH"}) {
      INFO(form.name << " without " << variable);
      Volume volume;
      volume.publish({{"started", "uid/0/e1\n"}});
      Environment environment = kRun;
      environment[variable] = "";
      CHECK(Process(with_arguments(form, volume.mount(), "300"), environment, volume.log()).exit_code() == 2);
      CHECK(content_of(volume.log()).find("its group is unknown") != std::string::npos);
    }
  }
}

TEST_CASE("a waiter without its volume says so") {
  for (const Form& form : forms()) {
    INFO(form.name);
    Volume volume;
    CHECK(Process(with_arguments(form, volume.mount() / "missing", "300"), kRun, volume.log()).exit_code() == 2);
    CHECK(content_of(volume.log()).find("the volume group-scheduling is not mounted") != std::string::npos);
  }
}

TEST_CASE("muster-wait refuses a command line that it does not understand") {
  const Words bad[] = {{"--dir=/tmp"},
                       {"--timeout-seconds=5"},
                       {"--dir=/tmp", "--timeout-seconds=0"},
                       {"--dir=/tmp", "--timeout-seconds=-3"},
                       {"--dir=/tmp", "--timeout-seconds=5s"},
                       {"--dir=/tmp", "--timeout-seconds=99999999999"},
                       {"--dir=/tmp", "--timeout-seconds=5", "--grace-seconds=x"},
                       {"--dir=/tmp", "--timeout-seconds=5", "--directory=/"},
                       {"--dir=/tmp", "--timeout-seconds"}};
  for (const Words& arguments : bad) {
    Words words = {MUSTER_WAIT};
    words.insert(words.end(), arguments.begin(), arguments.end());
    INFO(arguments.back());
    Volume volume;
    CHECK(Process(words, kRun, volume.log()).exit_code() == 2);
    CHECK(content_of(volume.log()).find("usage: muster-wait") != std::string::npos);
  }
}

TEST_CASE("muster-wait leaves its last word as the termination message where there is a file for it") {
  Volume volume;
  volume.publish({{"expired", "uid/0/e1\n"}});
  const fs::path message = volume.log().parent_path() / "termination-log";
  const Words words = {MUSTER_WAIT, "--dir", volume.mount(), "--timeout-seconds", "300", "--termination-log", message};
  CHECK(Process(words, kRun, volume.log()).exit_code() == 1);
  CHECK(!fs::exists(message));

  std::ofstream(message) << "something old and longer than the new message could ever be";
  CHECK(Process(words, kRun, volume.log()).exit_code() == 1);
  CHECK(content_of(message).starts_with("GroupSchedulingTimeout: the group timed out after 300 s"));
}

TEST_CASE("muster-wait notices a file that is written in place") {
  Volume volume;
  fs::remove(volume.mount() / "started");
  std::ofstream(volume.mount() / "started") << "uid/0/e0\n";
  Process process({MUSTER_WAIT, "--dir", volume.mount(), "--timeout-seconds", "300"}, kRun, volume.log());
  CHECK(is_waiting(process, volume));
  CHECK(process.polls_on());
  std::ofstream(volume.mount() / "started") << "uid/0/e1\n";
  CHECK(process.exit_code() == 0);
}

}  // namespace
}  // namespace muster
