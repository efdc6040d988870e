// A simulated API server with the namespace "default".
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "test/world/api_server.h"

namespace muster::test {

struct ApiServerFixture {
  world::Timeline timeline{TimePoint(std::chrono::seconds(1'800'000'000))};
  world::ApiServer server{timeline, {}};

  ApiServerFixture() {
    server.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}});
  }

  world::ObjectPtr created(nlohmann::json manifest) {
    const world::Answer answer = server.create(std::move(manifest));
    REQUIRE_MESSAGE(answer.done(), answer.message);
    return answer.object;
  }
};

}  // namespace muster::test
