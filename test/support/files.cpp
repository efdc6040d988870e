#include "test/support/files.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace muster::test {

std::filesystem::path source_tree() {
  const char* other = std::getenv("MUSTER_TREE");
  return other != nullptr ? other : MUSTER_SOURCE_DIR;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.good(), "cannot read " << path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace muster::test
