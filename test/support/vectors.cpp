#include "test/support/vectors.h"

#include <doctest/doctest.h>
#include <zlib.h>

#include <array>
#include <cstdlib>
#include <sstream>

#include "test/support/files.h"

namespace muster::test {

namespace {

// Inflates where the file is compressed, and reads it as it is where it is not.
std::string inflate(const std::string& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) return {};
  std::string text;
  std::array<char, 1 << 16> buffer{};
  int got = 0;
  while ((got = gzread(file, buffer.data(), buffer.size())) > 0) text.append(buffer.data(), static_cast<size_t>(got));
  gzclose(file);
  REQUIRE_MESSAGE(got == 0, "cannot read " << path);
  return text;
}

}  // namespace

std::vector<nlohmann::json> load_vectors(const std::string& set) {
  const char* configured = std::getenv("MUSTER_VECTORS");
  const std::string folder = (configured ? configured : std::string(MUSTER_SOURCE_DIR) + "/test/vectors") + ("/" + set);
  std::string text = inflate(folder + "/train.jsonl");
  if (text.empty()) text = inflate(folder + "/train.jsonl.gz");
  REQUIRE_MESSAGE(!text.empty(), "no vectors in " << folder);
  std::vector<nlohmann::json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) lines.push_back(nlohmann::json::parse(line));
  }
  return lines;
}

std::string read_source_file(const std::string& path) {
  return read_file(std::filesystem::path(MUSTER_SOURCE_DIR) / path);
}

}  // namespace muster::test
