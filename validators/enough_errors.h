#pragma once

#include <cstddef>

namespace muster {

// A rule that can find as many errors as a large object has items stops at this count: each
// error costs a text, and nobody reads more.
constexpr size_t kEnoughErrors = 1000;

}  // namespace muster
