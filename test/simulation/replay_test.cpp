// What the engine of a simulated muster received, written down without what is private, and decided over once more.
#include <doctest/doctest.h>

#include <cstdlib>

#include "test/simulation/gangs.h"
#include "test/simulation/queues.h"
#include "test/simulation/recorded_runs.h"

namespace replay_test {

using namespace muster;
using namespace muster::test;
using namespace std::chrono_literals;
using nlohmann::json;
using world::Faults;
using world::World;

namespace {

constexpr const char* kSecret = "hunter2";

// With a secret in each place that a user has.
json with_secrets(json job) {
  json& pod = job["spec"]["template"];
  json& container = pod["spec"]["containers"][0];
  const std::string secret = kSecret;
  container["env"] = json::array({{{"name", "PASSWORD"}, {"value", secret + "-env"}}});
  container["args"] = json::array({"--token=" + secret, "line\nbreak\t\"" + secret + "\""});
  container["command"] = json::array({"sh", "-c", "export A=" + secret});
  container["image"] = "registry.example/" + secret;
  pod["metadata"]["annotations"]["example.com/note"] = secret;
  pod["metadata"]["labels"]["example.com/team"] = secret;
  job["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"] = "{\"env\":\"" + secret + "\"}";
  return job;
}

// `jobs` Jobs of two teams over a while, some with a high priority.
void submit(World& world, int jobs) {
  for (const json& object : two_teams(12)) require_done(world.create(object));
  for (int i = 0; i < jobs; ++i) {
    json job = with_secrets(queued_job(1 + i % 4, "job" + std::to_string(i)));
    job["metadata"]["labels"] = {{kQueueNameLabel, i % 3 == 0 ? "red" : "blue"},
                                 {kPriorityClassLabel, i % 5 == 0 ? "high" : "low"}};
    auto answer = world.create(job);
    for (int tries = 0; tries < 300 && !answer.done(); ++tries) {
      world.run_for(1s);
      answer = world.create(job);
    }
    require_done(answer);
    world.run_for(std::chrono::seconds(i * 7 % 11));
  }
}

int admitted(const recording::ReplayResult& result) {
  const auto found = result.kinds.find(recording::DecisionKind::kAdmission);
  return found == result.kinds.end() ? 0 : static_cast<int>(found->second.recorded);
}

}  // namespace

TEST_CASE("replay: a recording of three hundred Workloads with faults decides the same, and holds no secret") {
  RecordedRuns recorded;
  {
    World world({.seed = 11, .replicas = 2, .faults = Faults::storm()});
    submit(world, 300);
    world.calm();
    INFO(world.report());
    REQUIRE(world.settle());
  }
  // Each start of a process is a separate recording.
  CHECK(recorded.runs().size() > 4);
  recording::ReplayCount all;
  for (const auto& run : recorded.runs()) {
    CHECK(run->text.find(kSecret) == std::string::npos);
    const recording::ReplayCount count = check_equal(*run);
    all.recorded += count.recorded;
    all.equal += count.equal;
  }
  MESSAGE(all.recorded << " decisions in " << recorded.bytes() << " bytes");
  CHECK(all.recorded > 2000);
  CHECK(all.equal == all.recorded);
}

TEST_CASE("replay: gangs and JobSets of muster's own are decided the same") {
  RecordedRuns recorded;
  {
    World world({.seed = 3, .faults = Faults::storm()});
    require_done(world.create(gang_jobset(300)));
    world.run_for(10min);
    world.calm();
    REQUIRE(world.settle());
  }
  uint64_t gangs = 0;
  for (const auto& run : recorded.runs()) {
    check_equal(*run);
    if (!run->text.empty()) gangs += replayed(run->text, run->settings).kinds[recording::DecisionKind::kGang].recorded;
  }
  CHECK(gangs > 0);
}

TEST_CASE("replay: other settings decide otherwise, and each difference says what, when and why") {
  RecordedRuns recorded;
  {
    World world({.seed = 5});
    submit(world, 30);
    world.run_for(30min);
  }
  REQUIRE(recorded.runs().size() == 1);
  const RecordedRun& run = *recorded.runs().front();
  check_equal(run);
  engine::EngineSettings other = run.settings;
  other.reconcilers.queues.exclude_resource_prefixes = {"cpu"};
  const recording::ReplayResult result = replayed(run.text, other);
  CHECK_FALSE(result.equal());
  CHECK(result.total().different > 0);
  REQUIRE_FALSE(result.differences.empty());
  const recording::Difference& first = result.differences.front();
  INFO(text_of(result));
  CHECK(first.object.starts_with("workloads/default/"));
  CHECK(first.at >= result.first);
  CHECK(first.recorded != first.now);
  CHECK_FALSE(first.field.empty());
}

TEST_CASE("replay: a file that begins with a snapshot settles, and then decides the same") {
  RecordedRuns recorded(400);
  {
    World world({.seed = 1});
    submit(world, 150);
    world.run_for(30min);
  }
  REQUIRE(recorded.runs().size() == 1);
  const RecordedRun& run = *recorded.runs().front();
  REQUIRE_FALSE(run.from_snapshot.empty());
  CHECK(run.from_snapshot.size() < run.text.size());
  const recording::ReplayResult result = replayed(run.from_snapshot, run.settings);
  INFO(text_of(result));
  CHECK(result.equal());
  CHECK(admitted(result) > 50);
  CHECK(result.total().equal > 200);
}

// Every other test of the simulation is a recording too: set MUSTER_REPLAY_ALL.
namespace {

class EveryWorld {
 public:
  EveryWorld() {
    if (std::getenv("MUSTER_REPLAY_ALL") == nullptr) return;
    World::observer_maker() = [](const engine::EngineSettings& settings) {
      return std::make_unique<Checked>(settings);
    };
  }

 private:
  class Checked final : public engine::LoopObserver {
   public:
    explicit Checked(const engine::EngineSettings& settings) : recorder_(settings, runs_, 0) {}
    ~Checked() override { check(); }
    std::string text_of(const ResourceType& type, const json& object) const override {
      return recorder_.text_of(type, object);
    }
    void began() override {
      check();
      recorder_.began();
    }
    void saw(engine::ObservedBatch batch) override { recorder_.saw(std::move(batch)); }

   private:
    void check() {
      for (const auto& run : runs_) check_equal(*run);
      runs_.clear();
    }

    std::vector<std::shared_ptr<RecordedRun>> runs_;
    RunRecorder recorder_;
  };
};
const EveryWorld every_world;

}  // namespace

}  // namespace replay_test
