// A simulated cluster without muster: Job controller, garbage collector, scheduler and kubelets.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "api/codec/json.h"
#include "api/meta/object_meta.h"
#include "test/simulation/manifests.h"
#include "test/world/garbage_collector.h"
#include "test/world/job_controller.h"
#include "test/world/nodes.h"

namespace muster::test {

struct Cluster {
  world::Timeline timeline{TimePoint(std::chrono::seconds(1'800'000'000))};
  world::ApiServer server{timeline, {}};
  world::GarbageCollector garbage_collector{server, timeline, 1};
  world::JobController job_controller{server, timeline, 1};
  world::Nodes nodes;

  explicit Cluster(world::NodeOptions options = {}) : nodes(server, timeline, options, 1) {
    server.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "default"}}}});
  }

  void create(nlohmann::json manifest) {
    const world::Answer answer = server.create(std::move(manifest));
    REQUIRE_MESSAGE(answer.done(), answer.message);
  }
  void run(Duration duration) {
    const MonotonicTime end = timeline.time() + duration;
    while (timeline.next() <= end) timeline.step();
    timeline.move_to(end);
  }
  bool run_until(const std::function<bool()>& condition, Duration limit) {
    const MonotonicTime end = timeline.time() + limit;
    while (!condition()) {
      if (timeline.next() > end) return false;
      timeline.step();
    }
    return true;
  }
  std::vector<nlohmann::json> pods() const {
    std::vector<nlohmann::json> found;
    for (const world::ObjectPtr& pod : server.list(kPods)) found.push_back(*pod);
    return found;
  }
  int64_t count(const char* field) const { return int_at(*server.get(job_key()), {"status", field}).value_or(0); }
  int running() const {
    int number = 0;
    for (const nlohmann::json& pod : pods()) number += string_at(pod, {"status", "phase"}) == "Running";
    return number;
  }
  Condition condition(std::string_view type) const {
    const Conditions conditions = read_conditions(array_at(*server.get(job_key()), {"status", "conditions"}));
    const Condition* found = find_condition(conditions, type);
    return found == nullptr ? Condition{} : *found;
  }
  bool has(std::string_view type) const { return condition(type).is_true(); }
};

}  // namespace muster::test
