// A simulated API server with the namespace "default".
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "simulation/api_server.h"

namespace muster::test {

struct ApiServerFixture {
  simulation::Timeline timeline{TimePoint(std::chrono::seconds(1'800'000'000))};
  simulation::ApiServer server{timeline, {}};

  ApiServerFixture() {
    server.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}});
  }

  simulation::ObjectPtr created(nlohmann::json manifest) {
    const simulation::Answer answer = server.create(std::move(manifest));
    REQUIRE_MESSAGE(answer.done(), answer.message);
    return answer.object;
  }
};

}  // namespace muster::test
