// Recorded behaviour of the originals as test input: <set>/train.jsonl below
// $MUSTER_VECTORS, by default ../shared/vectors beside the source tree.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace muster::test {

// All lines of a set. When the folder is missing: nullopt, having printed
// "[skipped]", which ctest counts as a skipped test; with CI=true the test fails.
std::optional<std::vector<nlohmann::json>> load_vectors(const std::string& set);

// Reads a file below the source tree's root; fails the test when there is none.
std::string read_source_file(const std::string& path);

}  // namespace muster::test
