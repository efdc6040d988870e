// How much memory the container gives muster, and giving back what is not in use.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace muster::runtime {

// The least limit of the control groups (version 1 or 2) that this process is in; nothing where
// there is none. `root` is "/" but in tests.
std::optional<size_t> memory_limit(const std::filesystem::path& root = "/");

// Hands free memory of the calling thread back to the kernel, which the allocator would keep for
// later. Worth its time after large requests only.
void release_free_memory();

}  // namespace muster::runtime
