#include "test/world/world.h"

#include <algorithm>
#include <exception>

#include "api/codec/json.h"
#include "api/meta/object_meta.h"
#include "test/world/object_rules.h"

namespace muster::world {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr const char* kMuster = "system:serviceaccount:muster-system:muster";
constexpr Duration kQuiet = minutes(10);
constexpr TimePoint kStart{seconds(1'800'000'000)};

RuleSettings rules_of(const WorldOptions& options) {
  RuleSettings settings = options.queues.rules;
  settings.jobset_mode = JobSetMode::kNative;
  settings.admitters.insert(kMuster);
  return settings;
}

engine::EngineSettings engine_of(const WorldOptions& options) {
  engine::EngineSettings settings;
  settings.keep_webhook_configurations = false;
  settings.admissions_at_a_time = options.process.connections;
  settings.reconcilers.queues = options.queues;
  settings.reconcilers.queues.rules.jobset_mode = JobSetMode::kNative;
  settings.check_controllers = options.check_controllers;
  return settings;
}

ApiServerOptions server_of(const WorldOptions& options) {
  ApiServerOptions server = options.api_server;
  server.seed = options.seed;
  return server;
}

}  // namespace

World::World(WorldOptions options)
    : options_(std::move(options)),
      timeline_(kStart),
      chance_(options_.seed, "world"),
      server_(timeline_, server_of(options_)),
      webhooks_(rules_of(options_),
                [this]() -> ClusterViewPtr {
                  for (const auto& process : processes_) {
                    if (process->view() != nullptr) return process->view();
                  }
                  return nullptr;
                }),
      invariants_(
          server_, timeline_,
          options_.queues.wait_for_pods_ready ? options_.queues.wait_for_pods_ready->requeuing : RequeuingStrategy(),
          options_.faults.clock_skew),
      pods_(server_),
      garbage_collector_(server_, timeline_, options_.seed),
      job_controller_(server_, timeline_, options_.seed),
      operators_(server_, timeline_, options_.seed),
      trainer_(server_, timeline_, options_.seed),
      nodes_(server_, timeline_, options_.nodes, options_.seed),
      leases_(timeline_, options_.seed) {
  server_.serve(kJobSets, options_.jobsets_served);
  for (const std::string& ns : options_.namespaces) {
    server_.create({{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns}}}});
  }
  server_.set_admission(&webhooks_);
  server_.on_change([this](const Change& change) {
    for (const auto& process : processes_) process->see(change);
  });
  for (int replica = 0; replica < options_.replicas; ++replica) add_process(replica);
  run_until(
      [this] {
        return leader() >= 0 &&
               std::all_of(processes_.begin(), processes_.end(), [](const auto& process) { return process->synced(); });
      },
      minutes(1));
  schedule_accident();
}

World::~World() {
  if (end_inspector() && !std::uncaught_exceptions()) end_inspector()(*this);
  for (const auto& process : processes_) process->kill();
}

std::function<void(const World&)>& World::end_inspector() {
  static std::function<void(const World&)> inspector;
  return inspector;
}

std::function<std::unique_ptr<engine::LoopObserver>(const engine::EngineSettings&)>& World::observer_maker() {
  static std::function<std::unique_ptr<engine::LoopObserver>(const engine::EngineSettings&)> maker;
  return maker;
}

void World::jump_wall_clock(Duration by) {
  timeline_.jump_wall_clock(by);
  invariants_.clock_was_set();
}

void World::elect(int replica) {
  invariants_.note_disturbance();
  leases_.elect(replica);
}

void World::add_process(int replica) {
  engine::EngineSettings settings = engine_of(options_);
  if (observer_maker()) {
    observers_.push_back(observer_maker()(settings));
    settings.observer = observers_.back().get();
  }
  processes_.push_back(std::make_unique<MusterProcess>(MusterProcess::Surroundings{
      .server = server_,
      .timeline = timeline_,
      .chance = chance_,
      .options = options_.process,
      .faults = faults_,
      .settings = std::move(settings),
      .leads_until = [this, replica] { return leases_.leads_until(replica); },
      .give_up_lease = [this, replica] { leases_.release(replica); },
      .carry_out = [this, replica](const reconcilers::Write& write,
                                   bool heard) { return carry_out(replica, write, heard); },
      .record = [this](const ObjectEvent& event) { events_.push_back(event); },
      .broke = [this](const engine::Breakage& breakage) { invariants_.see_breakage(breakage); },
      .heard = [this](const Change& change) { invariants_.see_heard(change); },
  }));
  MusterProcess& process = *processes_.back();
  process.start();
  leases_.add({.incarnation = [&process] { return process.incarnation(); },
               .connected = [&process] { return process.connected(); },
               .takes_part = [&process] { return process.takes_part(); },
               .lead = [&process](bool leads) { process.lead(leads); }});
}

// --- The user ---

Answer World::create(json manifest) {
  const ResourceType* type = find_type(manifest);
  if (type != nullptr && type->namespaced && string_at(manifest, {"metadata", "namespace"}).empty())
    manifest["metadata"]["namespace"] = "default";
  return server_.create(std::move(manifest));
}

Answer World::patch(const ObjectKey& key, const json& merge_patch) {
  return server_.patch(key, merge_patch);
}

Answer World::patch_status(const ObjectKey& key, const json& merge_patch) {
  return server_.patch_status(key, merge_patch);
}

Answer World::remove(const ObjectKey& key, reconcilers::Propagation propagation) {
  return server_.remove(key, {.propagation = propagation});
}

Answer World::orphan(const ObjectKey& key) {
  return server_.remove(key, {.orphan = true});
}

json World::get(const ObjectKey& key) const {
  const ObjectPtr object = server_.get(key);
  return object == nullptr ? json() : *object;
}

std::vector<json> World::list(const ResourceType& type, const std::string& label_selector) const {
  std::vector<json> found;
  for (const ObjectPtr& object : server_.list(type, {.labels = label_selector})) found.push_back(*object);
  return found;
}

// --- Time ---

bool World::step_until(MonotonicTime limit) {
  if (timeline_.next() > limit) {
    timeline_.move_to(limit);
    return false;
  }
  return timeline_.step();
}

void World::run_for(Duration duration) {
  const MonotonicTime limit = timeline_.time() + duration;
  while (step_until(limit)) {
  }
}

bool World::run_until(const std::function<bool()>& condition, Duration limit) {
  const MonotonicTime end = timeline_.time() + limit;
  while (!condition()) {
    if (!step_until(end)) return condition();
  }
  return true;
}

bool World::settle() {
  const MonotonicTime begin = timeline_.time();
  const bool quiet =
      run_until([&] { return timeline_.time() - std::max(last_write_, begin) >= kQuiet; }, std::chrono::hours(2));
  if (quiet) invariants_.check_orphans();
  return quiet && violations().empty();
}

void World::at(Duration elapsed, std::function<void()> action) {
  timeline_.after(elapsed - timeline_.elapsed(), std::move(action));
}

// --- Faults ---

void World::kill(int replica) {
  invariants_.note_disturbance();
  process(replica).kill();
}

void World::kill(int replica, Duration down_for) {
  kill(replica);
  timeline_.after(down_for, [this, replica] { restart(replica); });
}

void World::restart(int replica) {
  invariants_.note_disturbance();
  process(replica).start();
}

void World::kill_after_write(int n, Duration down_for) {
  kill_after_ = n;
  kill_down_for_ = down_for;
}

void World::cut_off(int replica, Duration duration) {
  invariants_.note_disturbance();
  process(replica).cut_off(true);
  timeline_.after(duration, [this, replica] {
    invariants_.note_disturbance();
    process(replica).cut_off(false);
  });
}

void World::lose_watches(int replica, const ResourceType* type) {
  process(replica).lose_watches(type);
}

void World::break_watch(int replica, const ResourceType& type, Duration duration) {
  invariants_.note_disturbance();
  process(replica).break_watch(type, true);
  timeline_.after(duration, [this, replica, &type] {
    invariants_.note_disturbance();
    process(replica).break_watch(type, false);
  });
}

void World::calm() {
  faults_ = {};
  for (int replica = 0; replica < replicas(); ++replica) {
    process(replica).cut_off(false);
    for (const WatchedKind& kind : watched_kinds()) process(replica).break_watch(*kind.type, false);
    restart(replica);
  }
}

void World::schedule_accident() {
  if (faults_.between_accidents == Duration(0)) return;
  timeline_.after(chance_.between(Duration(0), 2 * faults_.between_accidents), [this] {
    if (faults_.between_accidents == Duration(0)) return;
    accident();
    schedule_accident();
  });
}

void World::accident() {
  const int replica = static_cast<int>(chance_.number() % processes_.size());
  switch (chance_.number() % 7) {
    case 0:
      return kill(replica, chance_.between(milliseconds(100), seconds(40)));
    case 1: {
      const auto kinds = watched_kinds();
      return lose_watches(replica, kinds[chance_.number() % kinds.size()].type);
    }
    case 2:
      server_.compact();
      return lose_watches(replica);
    case 3:
      return elect(replica);
    case 4:
      return cut_off(replica, chance_.between(seconds(1), seconds(30)));
    case 5:
      return jump_wall_clock(chance_.between(seconds(0), seconds(120)) - seconds(60));
    case 6: {
      const auto kinds = watched_kinds();
      return break_watch(replica, *kinds[chance_.number() % kinds.size()].type,
                         chance_.between(seconds(1), seconds(30)));
    }
  }
}

// --- Writes ---

Answer World::carry_out(int replica, const reconcilers::Write& write, bool heard) {
  last_write_ = timeline_.time();
  const ObjectPtr before = server_.get(write.target);
  invariants_.muster_writes(true);
  const Answer answer = server_.carry_out(write, {.user = kMuster});
  invariants_.muster_writes(false);
  writes_.add(timeline_.elapsed(), replica, write, answer);
  const std::string by =
      "replica " + std::to_string(replica) + " (start " + std::to_string(process(replica).incarnation()) + ")";
  invariants_.see_write(by, write, answer, before, heard);
  if (answer.done() && kill_after_ > 0 && --kill_after_ == 0) kill(replica, kill_down_for_);
  return answer;
}

// --- What is there ---

bool World::condition_true(const ObjectKey& key, std::string_view type) const {
  const ObjectPtr object = server_.get(key);
  return object != nullptr && has_condition(*object, type);
}

bool World::has_event(std::string_view reason) const {
  return std::any_of(events_.begin(), events_.end(), [&](const ObjectEvent& event) { return event.reason == reason; });
}

std::string World::report() const {
  std::string text = "seed " + std::to_string(options_.seed) + ", after " +
                     std::to_string(std::chrono::duration_cast<milliseconds>(elapsed()).count()) + " ms\n";
  for (const std::string& violation : violations()) text += "violated " + violation + "\n";
  return text + writes_.text();
}

}  // namespace muster::world
