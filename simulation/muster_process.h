// One replica of muster: a real Engine, its watches, and the connections that carry out
// its writes, all of them able to be late or to fail. What commands/ does with threads
// and sockets is done here with a Timeline.
//
// Within one kind a watch keeps the order of events; kinds are independent of each other
// and of the answers to writes.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "api/watched_kinds.h"
#include "engine/engine.h"
#include "simulation/api_server.h"

namespace muster::simulation {

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
    EngineSettings settings;
    // A write arrives at the API server. `heard`: its answer will get back.
    std::function<Answer(const Write&, bool heard)> carry_out;
    std::function<void(const ObjectEvent&)> record;
  };

  explicit MusterProcess(Surroundings around);

  void start();
  // Everything it knew and had planned is gone.
  void kill();
  bool running() const { return engine_ != nullptr; }
  // Counts starts; 0 while it is down.
  uint64_t incarnation() const { return running() ? starts_ : 0; }
  uint64_t starts() const { return starts_; }
  bool synced() const { return running() && engine_->synced(); }
  // null while it is down.
  const Engine* engine() const { return engine_.get(); }

  // Neither watches nor writes get through while cut off.
  void cut_off(bool cut);
  bool connected() const { return running() && !cut_off_; }
  // The API server that it reaches serves this kind no more, or again: requests for it are
  // answered with 404, and discovery says the same.
  void hide(const ResourceType& type, bool hidden);
  // nullptr: every watch.
  void lose_watches(const ResourceType* type);
  // The watches of a kind break, and none can be opened until it is mended. Lists and writes go on.
  void break_watch(const ResourceType& type, bool broken);
  void lead(bool leads);
  // Some change of a kind has happened.
  void see(const Change& change);

 private:
  struct Feed {
    const ResourceType* type;
    bool metadata_only;
    Selection selection;
    uint64_t seen = 0;  // resume after this; 0: list first
    bool connected = false;
    int absences = 0;  // that discovery has told in a row
    uint64_t session = 0;
    MonotonicTime last_delivery{};
  };

  // Runs later, unless the process has died by then.
  void after(Duration delay, std::function<void()> action);
  void watch(const WatchedKind& kind);
  void connect(size_t feed);
  void connect_later(size_t feed, Duration delay);
  // `term`: of this replica when it asked.
  void list(size_t feed, uint64_t term);
  void find_absent(size_t feed, uint64_t term);
  void deliver(size_t feed, uint64_t session, uint64_t up_to);
  TypedObject read(const Feed& feed, const nlohmann::json& object) const;
  Duration some(Duration low, Duration high) { return around_.chance.between(low, high); }
  void post(Event event);
  void turn();
  void send_writes();
  void send(Command command);
  void arrive(const Command& command, bool alone);
  void send_late(const Command& command);
  void finish(const Command& command, WriteOutcome outcome, const ObjectPtr& object);

  const Surroundings around_;
  std::unique_ptr<Engine> engine_;
  uint64_t starts_ = 0;
  bool cut_off_ = false;
  std::set<std::string_view> hidden_;  // plurals
  std::set<std::string_view> broken_;  // plurals
  uint64_t term_ = 0;
  bool may_write_ = false;  // holds the lease
  std::vector<Feed> feeds_;
  std::deque<Event> inbox_;
  bool turn_planned_ = false;
  std::optional<MonotonicTime> tick_;
  std::deque<Command> outbox_;
  int under_way_ = 0;
  std::shared_ptr<int> alive_;
};

}  // namespace muster::simulation
