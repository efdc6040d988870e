#include "runtime/leadership.h"

#include <unistd.h>

#include <random>

#include "base/boot_clock.h"
#include "base/encoding.h"
#include "runtime/log.h"

namespace muster::runtime {
namespace {

kube::LeaseOptions lease_options(const LeaderElectionSettings& settings) {
  return {.duration = settings.lease_duration,
          .renew_deadline = settings.renew_deadline,
          .retry_period = settings.retry_period};
}

// Others count on while this machine is suspended.
kube::Timing lease_timing(const kube::Timing& timing) {
  return {boot_clock(), timing.sleeper, timing.random};
}

// At the moment of the call, so that the time of a suspended machine counts.
MonotonicTime on_system_clock(MonotonicTime on_boot_clock) {
  return system_clock().now().monotonic + (on_boot_clock - boot_clock().now().monotonic);
}

}  // namespace

Outcome<> check(const LeaderElectionSettings& settings) {
  if (!settings.leader_elect) return Done{};
  if (settings.resource_lock != "leases") {
    return fail("leaderElection.resourceLock: \"" + settings.resource_lock +
                "\" is not supported; leave it out or say leases");
  }
  return kube::check(lease_options(settings));
}

std::string process_identity() {
  char host[256] = "muster";
  gethostname(host, sizeof host - 1);
  std::random_device device;
  std::string bytes;
  for (int i = 0; i < 4; ++i) bytes += std::to_string(device()) + "/";
  return std::string(host) + "_" + sha256_hex(bytes).substr(0, 32);
}

Leadership::Leadership(Cluster& cluster, const LeaderElectionSettings& settings, const std::string& own_namespace,
                       std::string identity)
    : cluster_(cluster),
      settings_(settings),
      namespace_(settings.resource_namespace.empty() ? own_namespace : settings.resource_namespace),
      identity_(std::move(identity)),
      candidacy_(settings.leader_elect) {
  cluster_.metrics().set_leading(settings_.resource_name, false);
}

void Leadership::start(EngineLoop& loop) {
  MutexLock lock(mutex_);
  loop_ = &loop;
  candidacy_.begin();
  if (candidacy_.takes_part())
    take_part(loop);
  else
    note_attempt();
  if (settings_.leader_elect)
    yielding_ = std::jthread([this](const std::stop_token& stop) { yield_when_behind(stop); });
}

void Leadership::note_attempt() {
  attempted_ = true;
  attempted_.notify_all();
}

void Leadership::pause(Pause why) {
  std::unique_ptr<kube::LeaderElection> ending;  // destroyed without the lock, which writes need
  EngineLoop* leading = nullptr;                 // as does a leadership without elections
  {
    MutexLock lock(mutex_);
    if (!candidacy_.pause(why)) return;
    if (!settings_.leader_elect) leading = loop_;
    ending = std::move(election_);
  }
  if (leading == nullptr) return;
  cluster_.metrics().set_leading(settings_.resource_name, false);
  leading->end_leadership();
}

void Leadership::set_behind(bool behind) {
  {
    MutexLock lock(mutex_);
    if (candidacy_.set_behind(behind, cluster_.timing().clock.now().monotonic)) take_part(*loop_);
  }
  behind_changed_.notify_all();
}

void Leadership::yield_when_behind(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] {
    MutexLock lock(mutex_);  // so that the wait does not begin after the news
    behind_changed_.notify_all();
  });
  while (true) {
    {
      MutexLock lock(mutex_);
      while (!stop.stop_requested()) {
        const auto yields_at = candidacy_.yields_at();
        if (!yields_at)
          behind_changed_.wait(mutex_);
        else if (cluster_.timing().clock.now().monotonic >= *yields_at)
          break;
        else
          behind_changed_.wait_until(mutex_, *yields_at);
      }
    }
    if (stop.stop_requested()) return;
    log_warning("this replica gives up leadership: its watches do not catch up");
    pause(Pause::kBehind);
  }
}

void Leadership::resume(Pause why) {
  MutexLock lock(mutex_);
  if (candidacy_.resume(why)) take_part(*loop_);
}

// This replica can have missed writes of the previous leader: the watches must prove that they are current.
void Leadership::lead(EngineLoop& loop) {
  cluster_.metrics().set_leading(settings_.resource_name, true);
  log_info("this replica leads");
  const uint64_t term = ++term_;
  loop.begin_leadership(term);
  cluster_.catch_up(term);
}

void Leadership::take_part(EngineLoop& loop) {
  if (!settings_.leader_elect) {
    lead(loop);
    return note_attempt();
  }
  auto follow = [this, &loop](MonotonicTime until) {
    cluster_.metrics().set_leading(settings_.resource_name, false);
    loop.end_leadership(on_system_clock(until));
    log_info("this replica lost leadership");
  };
  election_ = std::make_unique<kube::LeaderElection>(
      cluster_.lease_api(),
      kube::LeaderElectionSettings{
          .ns = namespace_, .name = settings_.resource_name, .identity = identity_, .lease = lease_options(settings_)},
      kube::LeaderCallbacks{.became_leader = [this, &loop] { lead(loop); },
                            .lost_leadership = follow,
                            .new_leader =
                                [](const std::string& identity) {
                                  log_info("leader", {{"identity", identity.empty() ? "nobody" : identity}});
                                },
                            .attempted = [this] { note_attempt(); }},
      cluster_.observer(), lease_timing(cluster_.timing()));
}

void Leadership::stop() {
  yielding_ = {};
  std::unique_ptr<kube::LeaderElection> ending;
  EngineLoop* loop = nullptr;
  {
    MutexLock lock(mutex_);
    ending = std::move(election_);
    loop = std::exchange(loop_, nullptr);
    candidacy_.end();
  }
  if (ending) return;  // its callback ends the leadership, before it releases the Lease
  if (loop != nullptr) loop->end_leadership();
}

std::string Leadership::alarm() const {
  // A Lease that was let go is taken within a few seconds.
  constexpr Duration kHandover = std::chrono::seconds(5);
  MutexLock lock(mutex_);
  if (!election_ || on_system_clock(election_->led_until()) + kHandover > system_clock().now().monotonic) return "";
  return "no replica of muster leads: nothing is admitted or evicted";
}

std::optional<MonotonicTime> Leadership::leads_until() const {
  MutexLock lock(mutex_);
  if (election_) {
    const auto until = election_->valid_until();
    if (!until) return std::nullopt;
    return on_system_clock(*until);  // checked for each write
  }
  if (!settings_.leader_elect && candidacy_.takes_part()) return MonotonicTime::max();
  return std::nullopt;
}

}  // namespace muster::runtime
