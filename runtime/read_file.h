// Text of files and streams (I/O). Reading a folder, or a file that fails half way, is an error and never an
// exception.
#pragma once

#include <istream>
#include <string>

#include "base/result.h"

namespace muster::runtime {

// More is no manifest and no configuration, but a mistake, or /dev/zero.
inline constexpr size_t kLargestFile = size_t{64} << 20;

// The error names the file, as `name` spells it. `largest`: in bytes.
Result<std::string> read_file(const std::string& name, size_t largest = kLargestFile);
Result<std::string> read_stream(std::istream& stream, const std::string& name, size_t largest = kLargestFile);

}  // namespace muster::runtime
