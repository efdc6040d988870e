// A write that a test needs to succeed.
#pragma once

#include <doctest/doctest.h>

#include "test/world/api_server.h"

namespace muster::world {

inline void require_done(const Answer& answer) {
  REQUIRE_MESSAGE(answer.done(), answer.message);
}

}  // namespace muster::world
