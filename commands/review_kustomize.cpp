// `muster review -k`: the program that builds a kustomization.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>

#include "commands/read_file.h"
#include "commands/review_files.h"

extern char** environ;

namespace muster {
namespace {

namespace fs = std::filesystem;

struct Program {
  const char* name;
  const char* verb;
};
constexpr std::array kPrograms = {Program{"kubectl", "kustomize"}, Program{"kustomize", "build"}};

std::optional<std::string> find_program(const std::string& name, const std::string& search_path) {
  std::istringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    const std::string path = folder + "/" + name;
    std::error_code error;
    if (fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

// What a child writes to its standard output, until it closes it.
class Child {
 public:
  Child() = default;
  ~Child() { close_reader(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  Outcome<> start(const std::string& program, const std::vector<std::string>& arguments) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(std::string("no pipe: ") + std::strerror(errno));
    reader_ = ends[0];
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    std::vector<char*> argv;
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    const int error = ::posix_spawn(&process_, program.c_str(), &actions, nullptr, argv.data(), environ);
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (error != 0) return fail(program + " cannot be started: " + std::strerror(error));
    return Done{};
  }

  // Whether everything was read.
  bool read(std::string& text) const {
    std::array<char, 65536> block;
    for (;;) {
      const ssize_t count = ::read(reader_, block.data(), block.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return count == 0;
      text.append(block.data(), static_cast<size_t>(count));
      if (text.size() > kLargestFile) return false;
    }
  }

  // Its exit code; -1 when a signal ended it. A child that still writes is ended by SIGPIPE.
  int wait() {
    close_reader();
    int status = 0;
    while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  void close_reader() {
    if (reader_ >= 0) ::close(reader_);
    reader_ = -1;
  }

  int reader_ = -1;
  pid_t process_ = -1;
};

}  // namespace

Result<std::string> build_kustomization(const std::string& folder, const std::string& search_path) {
  if (folder.empty()) return fail("-k: the name of the folder is empty");
  for (const Program& program : kPrograms) {
    const auto path = find_program(program.name, search_path);
    if (!path) continue;
    const std::string command = std::string(program.name) + " " + program.verb + " " + folder;
    // A folder whose name begins with a dash is no flag.
    const std::string argument = folder.front() == '-' ? "./" + folder : folder;
    Child child;
    if (auto started = child.start(*path, {program.name, program.verb, argument}); !started)
      return fail("-k " + folder + ": " + started.error().message);
    std::string text;
    const bool complete = child.read(text);
    const int code = child.wait();
    if (!complete)
      return fail("-k " + folder + ": the output of " + command + " cannot be read, or is larger than 64 MiB");
    if (code != 0) return fail("-k " + folder + ": " + command + " failed; its messages are above");
    return text;
  }
  return fail("-k " + folder +
              ": needs kubectl or kustomize in PATH; install one of them, or pipe the output of kustomize build into "
              "muster review -f -");
}

}  // namespace muster
