// `muster review -k`: the program that builds a kustomization.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>
#include <sstream>

#include "commands/review/review_files.h"
#include "kube/transport/process.h"
#include "runtime/read_file.h"

namespace muster::commands {
namespace {

namespace fs = std::filesystem;

struct Program {
  const char* name;
  const char* verb;
};
constexpr std::array kPrograms = {Program{"kubectl", "kustomize"}, Program{"kustomize", "build"}};

// A kustomization can name resources on other hosts.
constexpr Duration kBuildTimeout = std::chrono::minutes(10);

std::optional<std::string> find_program(const std::string& name, const std::string& search_path) {
  std::istringstream folders(search_path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (folder.empty()) continue;
    std::string path = folder + "/" + name;
    std::error_code error;
    if (fs::is_regular_file(path, error) && ::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> build_kustomization(const std::string& folder, const std::string& search_path) {
  if (folder.empty()) return fail("-k: the name of the folder is empty");
  for (const Program& program : kPrograms) {
    const auto path = find_program(program.name, search_path);
    if (!path) continue;
    // A folder whose name begins with a dash is no flag.
    const std::string argument = folder.front() == '-' ? "./" + folder : folder;
    kube::ProcessCall call{*path, {program.verb, argument}, {}, kBuildTimeout, runtime::kLargestFile};
    auto built = kube::run_process(call, system_clock());
    if (built) return built;
    return fail("-k " + folder + ": " + program.name + " " + program.verb + " " + folder +
                " failed: " + built.error().message);
  }
  return fail("-k " + folder +
              ": needs kubectl or kustomize in PATH; install one of them, or pipe the output of kustomize build into "
              "muster review -f -");
}

}  // namespace muster::commands
