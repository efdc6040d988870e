#include "test/support/vectors.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

namespace muster::test {

std::optional<std::vector<nlohmann::json>> load_vectors(const std::string& set) {
  const char* configured = std::getenv("MUSTER_VECTORS");
  const std::string folder = configured ? configured : std::string(MUSTER_SOURCE_DIR) + "/../shared/vectors";
  std::ifstream file(folder + "/" + set + "/train.jsonl");
  if (!file) {
    const char* ci = std::getenv("CI");
    REQUIRE_MESSAGE(!(ci && std::string(ci) == "true"), "no vectors in " << folder << "/" << set);
    std::cout << "[skipped] no vectors in " << folder << "/" << set << "\n";
    return std::nullopt;
  }
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
  }
  REQUIRE(!lines.empty());
  return lines;
}

std::string read_source_file(const std::string& path) {
  std::ifstream file(std::string(MUSTER_SOURCE_DIR) + "/" + path);
  REQUIRE_MESSAGE(file.good(), "cannot read " << path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace muster::test
