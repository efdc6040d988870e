#pragma once

#include <cstddef>

namespace muster::validators {

// A rule that can find as many errors as a large object has items stops at this count: each error needs a message, and
// no user reads more.
constexpr size_t kEnoughErrors = 1000;

}  // namespace muster::validators
