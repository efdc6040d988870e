#pragma once

#include <filesystem>
#include <string>

namespace muster::test {

// The whole file; fails the test when it cannot be read.
std::string read_file(const std::filesystem::path& path);

}  // namespace muster::test
