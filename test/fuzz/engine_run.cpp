#include "test/fuzz/engine_run.h"

#include <ctime>
#include <iterator>
#include <optional>
#include <utility>

#include "api/cluster_queue.h"
#include "api/codec/json.h"
#include "api/jobset.h"
#include "api/workload.h"
#include "engine/engine.h"
#include "explain/explain.h"
#include "kinds/watched_kinds.h"
#include "mutators/mutator.h"
#include "state/metrics/queue_gauges.h"
#include "test/fuzz/stored_objects.h"
#include "validators/validator.h"

namespace muster::fuzz {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

class SlowestStep final : public engine::StepWatch {
 public:
  explicit SlowestStep(EngineRun& run) : run_(run) {}
  void began(std::string_view step, const ObjectKey* key) override {
    step_ = std::string(step) + (key == nullptr ? "" : " " + to_text(*key));
    began_ = cpu_seconds();
  }
  void ended() override {
    const double took = cpu_seconds() - began_;
    if (took <= run_.slowest_seconds) return;
    run_.slowest_seconds = took;
    run_.slowest_step = step_;
  }

 private:
  EngineRun& run_;
  std::string step_;
  double began_ = 0;
};

engine::EngineSettings settings_of(Chance& chance, engine::StepWatch& watch) {
  engine::EngineSettings settings;
  settings.keep_webhook_configurations = false;
  settings.watch = &watch;
  ReconcilerSettings& its = settings.reconcilers;
  if (chance.one_in(2)) its.queues.rules.jobset_mode = JobSetMode::kNative;
  its.elastic_jobsets = chance.one_in(2);
  its.labels_job_restarts = chance.one_in(2);
  its.patch_jobset_crd = chance.one_in(2);
  if (chance.one_in(2)) {
    WaitForPodsReady wait;
    wait.timeout = 30s;
    wait.recovery_timeout = 10s;
    wait.block_admission = chance.one_in(2);
    its.queues.wait_for_pods_ready = wait;
  }
  its.queues.rules.manage_jobs_without_queue_name = chance.one_in(2);
  for (const Gate gate : {Gate::kPartialAdmission, Gate::kReclaimablePods}) {
    if (chance.one_in(2)) its.queues.rules.feature_gates.set(gate, true);
  }
  if (chance.one_in(2)) its.queues.fair_sharing = {FairStrategy{}};
  return settings;
}

class Life {
 public:
  Life(uint64_t seed, EngineRun& run)
      : chance_(seed), run_(run), watch_(run), settings_(settings_of(chance_, watch_)), engine_(settings_) {}

  void live() {
    make_objects();
    engine_.apply(engine::LeadershipChanged{true}, now_);
    list_all();
    for (int step = 0; step < 25; ++step) {
      engine::Commands commands = engine_.plan(now_);
      note(commands.breakages);
      for (const engine::Command& command : commands.writes) carry_out(command);
      if (chance_.one_in(5)) meddle();
      if (step == 12) {
        ask_everything();
        engine_.apply(engine::LeadershipChanged{false}, now_);
        note(engine_.plan(now_).breakages);
        engine_.apply(engine::LeadershipChanged{true}, now_);
      }
      now_.monotonic += 7s;
      now_.wall += chance_.one_in(20) ? -3600s : 7s;
      engine_.apply(engine::Tick{}, now_);
    }
    note(engine_.plan(now_).breakages);
    ask_rules();
  }

 private:
  void note(const std::vector<engine::Breakage>& breakages) {
    for (const engine::Breakage& each : breakages)
      run_.breakages.push_back(std::string(engine::to_text(each.broke)) + " " + (each.key ? to_text(*each.key) : "") +
                               ": " + each.where + ": " + each.what);
  }

  void make_objects() {
    std::vector<Stored> objects = stored_objects(chance_);
    for (size_t i = chance_.one_in(4) ? 1 : 3; i > 0; --i) {
      json& object = chance_.of(objects).object;
      change(object, 1 + static_cast<int>(chance_.number(6)), chance_);
    }
    // Two objects with one uid.
    if (chance_.one_in(10))
      chance_.of(objects).object["metadata"]["uid"] = chance_.of(objects).object["metadata"]["uid"];
    for (Stored& each : objects) {
      const ObjectKey key = key_of(read_object(*each.type, each.object));
      store_[key] = std::move(each.object);
    }
  }
  void list_all() {
    for (const WatchedKind& kind : watched_kinds()) {
      std::vector<TypedObject> listed;
      for (const auto& [key, object] : store_) {
        if (*key.type == *kind.type) listed.push_back(read_object(*kind.type, object));
      }
      engine_.apply(engine::KindListed{kind.type, listed, 20, ""}, now_);
    }
  }

  TypedObject stored(const ObjectKey& key) {
    json& object = store_.at(key);
    if (!object["metadata"].is_object()) object["metadata"] = json::object();
    json& metadata = object["metadata"];
    metadata["resourceVersion"] = std::to_string(++version_);
    if (!metadata.contains("uid")) metadata["uid"] = "made-" + std::to_string(version_);
    return read_object(*key.type, object);
  }
  void carry_out(const engine::Command& command) {
    const reconcilers::Write& write = command.write;
    (void)to_text(write.body);
    if (chance_.one_in(12))
      return engine_.apply(
          engine::WriteFinished{command.id, static_cast<reconcilers::WriteOutcome>(1 + chance_.number(5))}, now_);
    engine::WriteFinished finished{command.id, reconcilers::WriteOutcome::kDone};
    if (write.verb == reconcilers::Verb::kFindPods) {
      if (chance_.one_in(2)) finished.outcome = reconcilers::WriteOutcome::kNotFound;
      return engine_.apply(finished, now_);
    }
    if (write.verb == reconcilers::Verb::kDelete) {
      if (store_.contains(write.target)) engine_.apply(engine::ObjectRemoved{stored(write.target)}, now_);
      store_.erase(write.target);
      return engine_.apply(finished, now_);
    }
    json& object = store_[write.target];
    if (write.verb == reconcilers::Verb::kCreate)
      object = write.body;
    else
      object.merge_patch(write.body);
    const TypedObject made = stored(write.target);
    if (chance_.one_in(2)) engine_.apply(engine::ObjectChanged{made}, now_);
    if (chance_.one_in(2))
      finished.object = made;
    else
      finished.version = version_;
    engine_.apply(finished, now_);
    engine_.apply(engine::ObjectChanged{made}, now_);
  }
  void meddle() {
    if (store_.empty()) return;
    const auto entry = std::next(store_.begin(), static_cast<std::ptrdiff_t>(chance_.number(store_.size())));
    const ObjectKey key = entry->first;
    if (chance_.one_in(6)) {
      engine_.apply(engine::ObjectRemoved{stored(key)}, now_);
      store_.erase(key);
      return;
    }
    change(entry->second, 1 + static_cast<int>(chance_.number(3)), chance_);
    engine_.apply(engine::ObjectChanged{stored(key)}, now_);
  }

  void ask_everything() {
    const reconcilers::ReconcileContext context{engine_.state(), engine_.decisions(), settings_.reconcilers, now_};
    for (const auto& [key, object] : store_) (void)to_text(to_json(explain::explain(key, context, true)));
    (void)state::queue_gauges(context.state, context.decisions, settings_.reconcilers.queues);
  }
  void ask_rules() {
    const RuleSettings& rules = settings_.reconcilers.queues.rules;
    const ClusterViewPtr view = engine_.view();
    for (const auto& [key, object] : store_) {
      for (const Operation operation : {Operation::kCreate, Operation::kUpdate}) {
        AdmissionRequest request;
        request.uid = "request";
        request.operation = operation;
        request.group = key.type->group;
        request.version = key.type->version;
        request.kind = key.type->kind;
        request.resource = key.type->plural;
        request.namespace_ = key.ns;
        request.name = key.name;
        if (chance_.one_in(3)) request.sub_resource = "status";
        request.object = object;
        if (operation == Operation::kUpdate) {
          request.old_object = object;
          change(request.old_object, 2, chance_);
        }
        (void)mutators::mutate(Review{request, *view, rules}).encode();
        (void)validators::validate(Review{request, *view, rules}).encode();
      }
    }
  }

  Chance chance_;
  EngineRun& run_;
  SlowestStep watch_;
  const engine::EngineSettings settings_;
  engine::Engine engine_;
  Now now_{TimePoint(1'795'341'600s), MonotonicTime(1000s)};
  uint64_t version_ = 100;
  std::map<ObjectKey, json> store_;
};

}  // namespace

EngineRun run_engine(uint64_t seed) {
  EngineRun run;
  try {
    Life(seed, run).live();
  } catch (const std::exception& thrown) {
    run.breakages.push_back(std::string("outside of the engine: ") + thrown.what());
  }
  return run;
}

}  // namespace muster::fuzz
