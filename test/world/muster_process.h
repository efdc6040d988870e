// One replica of muster. Its engine, inbox, outbox and the events of its watches are the product's own
// (engine/loop/), as is what it does with them; what runtime/ does around them with threads and sockets is done
// here with a Timeline: watches, and connections that carry out writes, all of them able to be late or to fail.
//
// Within one kind a watch keeps the order of events; kinds are independent of each other
// and of the answers to writes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "engine/loop/candidacy.h"
#include "engine/loop/inbox.h"
#include "engine/loop/kind_feed.h"
#include "engine/loop/loop_core.h"
#include "engine/loop/outbox_core.h"
#include "kinds/watched_kinds.h"
#include "test/world/api_server.h"

namespace muster::world {

struct ProcessOptions {
  int connections = 4;
  // From muster to the API server, and back again.
  Duration way_low = std::chrono::milliseconds(1), way_high = std::chrono::milliseconds(15);
  Duration watch_low = std::chrono::milliseconds(1), watch_high = std::chrono::milliseconds(60);
  // How long a request is waited for that gets no answer.
  Duration timeout = std::chrono::seconds(10);
};

// Rates of what fails by chance. The default: nothing.
struct Faults {
  double write_refused = 0;  // 429 or 500: not carried out
  double answer_lost = 0;    // carried out, but muster never hears of it
  double write_late = 0;     // carried out up to `late` after it was sent, whatever became of who sent it
  Duration late = std::chrono::seconds(30);
  double watch_stalls = 0;  // an event of a watch comes up to `stall` late, and all after it
  Duration stall = std::chrono::seconds(5);
  // Mean time between: a process killed, a watch lost, history compacted, a change of
  // leader, a replica cut off, a jump of the wall clock. Zero: never.
  Duration between_accidents{};
  // How much faster or slower the monotonic clock of a replica can be than time: 0.05 is 3 s in a minute. The wall
  // clock is right, as with NTP.
  double clock_skew = 0;

  // All of it.
  static Faults storm();
};

class MusterProcess {
 public:
  struct Surroundings {
    ApiServer& server;
    Timeline& timeline;
    Chance& chance;
    const ProcessOptions& options;
    const Faults& faults;
    engine::EngineSettings settings;
    // Until when this replica leads, as far as it knows; nullopt: it does not.
    std::function<std::optional<MonotonicTime>()> leads_until;
    std::function<void()> give_up_lease;
    // A write arrives at the API server. `heard`: its answer will get back.
    std::function<Answer(const reconcilers::Write&, bool heard)> carry_out;
    std::function<void(const ObjectEvent&)> record;
    // muster failed over an object.
    std::function<void(const engine::Breakage&)> broke;
    // A watch brings a change to muster.
    std::function<void(const Change&)> heard;
  };

  explicit MusterProcess(Surroundings around);

  void start();
  // Everything it knew and had planned is gone.
  void kill();
  bool running() const { return loop_ != nullptr; }
  // Counts starts; 0 while it is down.
  uint64_t incarnation() const { return running() ? starts_ : 0; }
  uint64_t starts() const { return starts_; }
  bool synced() const { return view_ != nullptr; }
  // null while it is down.
  const engine::Engine* engine() const { return loop_ == nullptr ? nullptr : &loop_->engine(); }
  // What its webhooks see of the cluster; null until every watched kind was listed.
  const ClusterViewPtr& view() const { return view_; }

  // Neither watches nor writes get through while cut off.
  void cut_off(bool cut);
  bool connected() const { return running() && !cut_off_; }
  // The API server that it reaches serves this kind no more, or again: requests for it are
  // answered with 404, and discovery says the same.
  void hide(const ResourceType& type, bool hidden);
  // nullptr: every watch.
  void lose_watches(const ResourceType* type);
  // The watches of a kind break, and none can be opened until it is repaired. Lists and writes go on.
  void break_watch(const ResourceType& type, bool broken);
  // Whether it stands for election. What stays behind for long does not, as runtime/leadership.cpp.
  bool takes_part() const { return running() && candidacy_.takes_part(); }
  void lead(bool leads);
  // Some change of a kind has happened.
  void see(const Change& change);

 private:
  // kube/watch.h and its connection, as far as the engine can tell.
  struct Feed {
    engine::KindFeed events;
    Selection selection;
    uint64_t seen = 0;  // resume after this; 0: list first
    bool connected = false;
    int absences = 0;  // that discovery has reported in a row
    uint64_t session = 0;
    MonotonicTime last_delivery{};
    struct Proof {
      uint64_t version, term;
    };
    std::optional<Proof> proof{};  // once it has seen this version it has caught up with the term

    const ResourceType& type() const { return events.type(); }
  };

  // Runs later, unless the process has died by then.
  void after(Duration delay, std::function<void()> action);
  Duration some(Duration low, Duration high) { return around_.chance.between(low, high); }
  // Of the replica's own clock, and the moment at which that clock shows a time.
  Now now() const;
  MonotonicTime moment_of(MonotonicTime own) const;
  bool hides(const ResourceType& type) const { return hidden_.contains(type.id()); }

  void watch(const WatchedKind& kind);
  void connect(size_t feed);
  void connect_later(size_t feed, Duration delay);
  // `term`: of this replica when it asked.
  void list(size_t feed, uint64_t term);
  void take_list(size_t feed, engine::KindListed listed, uint64_t term);
  void find_absent(size_t feed, uint64_t term);
  void deliver(size_t feed, uint64_t session, uint64_t up_to);
  void tell_caught_up(Feed& feed, uint64_t term);

  // A thread that posts: now, or once the inbox has room.
  void when_room(std::function<void()> action);
  void post(engine::Event event);
  void plan_turn();
  void turn();
  void set_behind(bool behind);

  // A connection's work with one write.
  void send_writes();
  void send(engine::Command command, MonotonicTime not_after);
  void send_late(const engine::Command& command, MonotonicTime not_after);
  void arrive(const engine::Command& command, MonotonicTime not_after);
  void fail_after(Duration delay, uint64_t id);
  // It has no answer, so it is waited for as long as a request can take.
  void give_up(uint64_t id, MonotonicTime not_after);
  void finish(engine::WriteFinished finished);
  engine::WriteFinished read(const engine::Command& command, const Answer& answer);

  const Surroundings around_;
  const double clock_rate_;
  uint64_t starts_ = 0;
  bool cut_off_ = false;
  std::set<KindId> hidden_;
  std::set<KindId> broken_;

  // Of the running process.
  std::shared_ptr<int> alive_;
  std::unique_ptr<engine::LoopCore> loop_;
  engine::Inbox inbox_;
  engine::OutboxCore outbox_;
  engine::Candidacy candidacy_{true};
  ClusterViewPtr view_;
  uint64_t term_ = 0;
  std::vector<Feed> feeds_;
  std::optional<MonotonicTime> turn_at_;  // planned
  std::vector<std::function<void()>> awaiting_room_;
};

}  // namespace muster::world
