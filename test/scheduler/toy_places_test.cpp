// A further capacity whose units are alternatives: where a Workload fits is decided with the counts of the moment.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "test/scheduler/capacity_cluster.h"
#include "test/scheduler/toy_places.h"

namespace muster::test::toy_places_test {

scheduler::FurtherCapacities racks(std::vector<int64_t> seats) {
  scheduler::FurtherCapacities further;
  further.push_back(std::make_unique<Racks>(std::move(seats)));
  return further;
}

class RackedCluster : public CapacityCluster {
 public:
  explicit RackedCluster(std::vector<int64_t> seats) : CapacityCluster(racks(std::move(seats))) {}

  void submit(const std::string& name, const char* queue, const std::vector<Pods>& pods, int32_t priority = 0) {
    CapacityCluster::submit(name, queue, 1, priority, pods, "{}");
  }
  // By pod set: "0 1".
  std::string racks_of(const std::string& name) const {
    std::string text;
    for (const PodSetAssignment& assignment : running(name).status.admission->pod_sets)
      text += (text.empty() ? "" : " ") + assignment.flavors.at(kRackField);
    return text;
  }
  int64_t free_seats(uint32_t rack) const {
    return scheduler.state().capacity.available(scheduler::kNoNode, {1, rack});
  }
};

TEST_CASE("toy places: an admission says the place of each pod set, and a new replica reads it") {
  RackedCluster before({4, 2}), after({4, 2});
  for (RackedCluster* cluster : {&before, &after}) cluster->put(cluster_queue("a", "", {{.nominal = 100}}));
  before.submit("both", "a", {{.count = 2}, {.count = 3}});
  CHECK(before.settle() == "+both");
  CHECK(before.racks_of("both") == "1 0");
  CHECK(before.free_seats(0) == 1);
  CHECK(before.free_seats(1) == 0);
  after.restart_from(before);
  CHECK(after.free_seats(0) == 1);
  CHECK(after.free_seats(1) == 0);
  after.submit("two", "a", {{.count = 2}});
  CHECK(after.settle() == "?two:preemptNoCandidates");
  after.end("both");
  CHECK(after.settle() == "+two");
}

TEST_CASE("toy places: two heads of a cycle get two places") {
  RackedCluster cluster({2, 2});
  for (const char* name : {"a", "b"}) {
    cluster.put(cluster_queue(name, "", {{.nominal = 10}}));
    cluster.submit(name, name, {{.count = 2}});
  }
  // Both were to get the first rack.
  CHECK(cluster.settle() == "+a +b");
  CHECK(cluster.racks_of("a") == "0");
  CHECK(cluster.racks_of("b") == "1");
}

TEST_CASE("toy places: preemption looks for the place that its victims can free") {
  // Which rack the answer with a shortage names says nothing: it is the largest, or the first of them.
  for (const int64_t seats_of_second : {2, 3}) {
    INFO(seats_of_second);
    RackedCluster cluster({2, seats_of_second});
    cluster.put(preempting("a", 100));
    cluster.submit("keeps", "a", {{.count = 2}}, 9);
    CHECK(cluster.settle() == "+keeps");
    CHECK(cluster.racks_of("keeps") == "0");
    cluster.submit("low", "a", {{.count = 2}}, 1);
    CHECK(cluster.settle() == "+low");
    CHECK(cluster.racks_of("low") == "1");
    cluster.submit("high", "a", {{.count = 2}}, 5);
    CHECK(cluster.settle() == "-low ?high:preempting");
    cluster.end("low");
    CHECK(cluster.settle() == "+high");
    CHECK(cluster.racks_of("high") == "1");
    CHECK(cluster.free_seats(1) == seats_of_second - 2);
  }
}

TEST_CASE("toy places: no Workload is evicted where no rack gets enough seats, and none in vain") {
  RackedCluster cluster({3, 3});
  cluster.put(preempting("a", 100));
  cluster.submit("keeps", "a", {{.count = 1}}, 9);
  cluster.submit("low", "a", {{.count = 2}}, 1);
  cluster.submit("beside", "a", {{.count = 2}}, 1);
  CHECK(cluster.settle() == "+keeps +low +beside");
  CHECK(cluster.racks_of("keeps") == "0");
  CHECK(cluster.racks_of("low") == "0");
  CHECK(cluster.racks_of("beside") == "1");
  // Two seats after the end of "low", three after that of "beside".
  cluster.submit("three", "a", {{.count = 3}}, 5);
  CHECK(cluster.settle() == "-beside ?three:preempting");
  cluster.end("beside");
  CHECK(cluster.settle() == "+three");
  cluster.submit("more", "a", {{.count = 3}}, 5);
  CHECK(cluster.settle() == "?more:preemptNoCandidates");
}

TEST_CASE("toy places: fewer pods where no rack has seats for all") {
  RackedCluster cluster({3, 2});
  cluster.put(cluster_queue("a", "", {{.nominal = 100}}));
  cluster.submit("partial", "a", {{.count = 8, .min_count = 2}});
  CHECK(cluster.settle() == "+partial");
  CHECK(cluster.admitted_count("partial") == 3);
  CHECK(cluster.racks_of("partial") == "0");
}

}  // namespace muster::test::toy_places_test
