// One connection's life: handshake, request, answer, again; at the end a farewell
// that gives the peer time to read the last answer.
//
//   handshake -> reading [-> waiting] -> answering -> reading ...
//                                                  -> lingering -> closed
//
// Nothing here waits: advance() does what can be done now and says what it needs
// to go on. So a client that sends or reads slowly costs memory, not a thread, and a
// handler only ever sees a request that is complete. One that needs much memory waits
// until others have given theirs back (server/transport/work_memory.h).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "server/transport/channel.h"
#include "server/transport/http.h"
#include "server/transport/request_head.h"
#include "server/transport/server_events.h"
#include "server/transport/work_memory.h"

namespace muster::server {

// How far drain() has come.
enum class DrainPhase {
  kServing,
  kLastRequests,  // every answer says Connection: close
  kClosing,       // a connection without a request under way is closed
};

// What all connections of one server share. Outlives them.
struct ConnectionSettings {
  explicit ConnectionSettings(const HttpLimits& of_server) : limits(of_server), work_memory(of_server.work_memory) {}

  Routes routes;
  const HttpLimits limits;
  HttpTimeouts timeouts;
  const Clock* clock = nullptr;
  ServerEventSink* events = nullptr;  // can be null
  // Runs the route's handler and gives the whole answer as it goes on the wire.
  std::function<std::string(const RequestHead& head, std::string_view body, bool close)> answer;

  // Called on the worker that has served a large request, when its memory is free again.
  std::function<void()> after_large;  // can be empty

  std::atomic<DrainPhase> drain_phase{DrainPhase::kServing};
  std::atomic<size_t> buffered_bytes{0};
  WorkMemory work_memory;

  void report(ServerEvent event, std::string_view detail) const {
    if (events) events->on_event(event, detail);
  }
};

// What a connection needs before advance() makes sense again.
enum class Need {
  kReadable,
  kWritable,
  kTurn,    // nothing: it has used up its turn and lets the others go first
  kMemory,  // that work_memory.returns() changes
  kClosed,  // destroy it
};

// Used by one thread at a time.
class Connection {
 public:
  Connection(std::unique_ptr<Channel> channel, ConnectionSettings& settings);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Need advance();

  bool established() const { return phase_ != Phase::kHandshake; }
  // At the time when it asked for memory and got none.
  size_t returns_seen() const { return returns_seen_; }
  int fd() const { return channel_->fd(); }
  MonotonicTime deadline() const { return deadline_; }
  // To be called instead of advance() at the deadline: an idle connection is closed in order, a slow one is
  // aborted.
  Need expire();

 private:
  enum class Phase { kHandshake, kReading, kWaiting, kAnswering, kLingering };
  // Nothing: go on with the next phase now.
  using Pause = std::optional<Need>;

  Pause handshake();
  Pause read_request();
  Pause receive();
  void make_room(size_t bytes);
  void consider_input();
  Pause wait_for_memory();
  Pause write_answer();
  Pause linger();

  void begin(Phase phase, Duration limit);
  void refuse(const HttpRefusal& refusal);
  void serve(size_t memory);
  void give_back_held();
  Pause start_lingering();
  void release_input();
  // Books the buffers' growth; false when all connections together hold too much.
  bool book_memory();

  std::unique_ptr<Channel> channel_;
  ConnectionSettings& settings_;
  Phase phase_ = Phase::kHandshake;
  MonotonicTime deadline_;
  std::string input_;
  std::string output_;
  size_t written_ = 0;
  bool output_is_interim_ = false;  // 100 Continue; the request goes on afterwards
  size_t searched_ = 0;             // of input_, by find_head_end
  std::optional<RequestHead> head_;
  bool close_after_answer_ = false;
  size_t booked_ = 0;
  size_t returns_seen_ = 0;
  size_t held_ = 0;  // of work_memory, until the answer is written
};

}  // namespace muster::server
