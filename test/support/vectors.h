// Recorded behaviour of the originals as test input: test/vectors, with a README, or another folder
// of the same layout that $MUSTER_VECTORS names.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace muster::test {

// All lines of <set>/train.jsonl or <set>/train.jsonl.gz; the test fails where there are none.
std::vector<nlohmann::json> load_vectors(const std::string& set);

// Reads a file below the source tree's root; fails the test when there is none.
std::string read_source_file(const std::string& path);

}  // namespace muster::test
