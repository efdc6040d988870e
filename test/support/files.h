#pragma once

#include <filesystem>
#include <string>

namespace muster::test {

// The tree whose text a test reads: the sources that it was built from, or $MUSTER_TREE, where test/guards has put
// faults.
std::filesystem::path source_tree();

// The whole file; fails the test when it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace muster::test
