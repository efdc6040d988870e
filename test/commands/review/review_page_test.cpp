// The commands of docs/review.md run on files of these names.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "commands/cli.h"
#include "test/support/temporary_folder.h"
#include "test/support/vectors.h"

namespace review_page_test {

using namespace muster::commands;
using muster::test::TemporaryFolder;
using nlohmann::json;

namespace {

constexpr const char* kJob =
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train, namespace: a, labels: {kueue.x-k8s.io/queue-name: q}}\n"
    "spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}\n";

struct Ran {
  int code;
  std::string out, err;
};

// A command as the page has it, without what follows a shell's sign, and with its files in `folder`.
Ran run(const std::string& command, const TemporaryFolder& folder) {
  std::istringstream words(command);
  std::vector<std::string> arguments;
  for (std::string word; words >> word && word != ">" && word != "|" && word != "#";) {
    const bool is_file = word == "job.yaml" || word == "stored.yaml" || word == "manifests/";
    arguments.push_back(is_file ? folder / word.c_str() : word);
  }
  arguments.erase(arguments.begin());  // muster
  std::istringstream in(kJob);
  std::ostringstream out, err;
  const int code = run_command_line(arguments, {in, out, err});
  return {code, out.str(), err.str()};
}

// Each "muster review ..." of the page, in its order.
std::vector<std::string> commands_of_page() {
  std::istringstream page(muster::test::read_source_file("docs/review.md"));
  std::vector<std::string> commands;
  for (std::string line; std::getline(page, line);) {
    const bool is_code = line.starts_with("    ") || line.starts_with("  run: ");
    const size_t at = line.find("muster review -");
    if (is_code && at != std::string::npos) commands.push_back(line.substr(at));
  }
  return commands;
}

}  // namespace

TEST_CASE("review: the commands of docs/review.md run") {
  TemporaryFolder folder;
  folder.write("job.yaml", kJob);
  folder.write("stored.yaml", kJob);
  folder.write("manifests/below/job.yaml", kJob);
  size_t tried = 0;
  for (const std::string& command : commands_of_page()) {
    if (command.find("-k ") != std::string::npos) continue;  // needs kustomize
    INFO(command);
    const bool is_hook = command.ends_with("-f");
    const Ran ran = run(is_hook ? command + " job.yaml stored.yaml" : command, folder);
    CHECK_MESSAGE(ran.code == 0, ran.err);
    if (command.find("sarif") != std::string::npos) CHECK(json::parse(ran.out)["version"] == "2.1.0");
    if (is_hook) CHECK(ran.out.starts_with("2 objects: 2 allowed, 0 rejected. "));
    ++tried;
  }
  CHECK(tried == 6);
}

}  // namespace review_page_test
