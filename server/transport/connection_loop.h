// Threads, sockets and deadlines of one server: which connections wait, and which ones run.
//
// All workers wait on one epoll instance. Every descriptor is armed for one event
// (EPOLLONESHOT), so a connection belongs to the one worker that got its event until
// that worker arms it again, and no request is handed from thread to thread. Waiting
// connections cost no thread and, but for one look at the deadlines per tick, no CPU.
//
// Listeners and handshakes are on a separate epoll instance, which is a single entry in the one of all. So they
// get one turn in each round, on one worker at a time: with any number of new connections, existing connections wait
// for one or two handshakes, not for all.
//
// The process must ignore SIGPIPE (main.cpp): OpenSSL writes to sockets that the peer has possibly closed.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "server/transport/connection.h"

namespace muster::server {

class ConnectionLoop {
 public:
  // Makes the server's end of an accepted connection; nullptr: close it.
  using ChannelFactory = std::function<std::unique_ptr<Channel>(FileDescriptor socket)>;

  // `settings` must outlive the loop.
  ConnectionLoop(ConnectionSettings& settings, ChannelFactory make_channel);
  // Stops at once; for a graceful stop call drain() before.
  ~ConnectionLoop();

  // Takes listening sockets and begins to serve. Once.
  Outcome<> start(std::vector<FileDescriptor> listeners, size_t workers);

  // Before drain(): still accepts, and each answer closes its connection. Thread-safe.
  void close_after_answers();

  // Stops accepting, answers the running requests, closes the other connections, joins the workers. Returns
  // at the end or after `times.patience`. Blocks its caller, which must not be a worker; a second call has no
  // effect.
  void drain(const DrainTimes& times);

  size_t open_connections() const;

 private:
  struct Entry {
    std::unique_ptr<Connection> connection;
    MonotonicTime deadline;    // copied, because the owner alone can look into the connection
    bool established = false;  // watched by epoll_, no longer by arrivals_
    bool owned = false;        // by the worker that got its event
    bool kicked = false;       // while it was owned: give it a further turn
    bool has_turn = false;     // it waits for a worker or for memory, and not for its peer
  };

  void work();
  void on_arrival();
  void on_connection(uint64_t id);
  // Ends a turn: arms the connection for what it needs, or closes it.
  void give_back(uint64_t id, Connection& connection, Need need) EXCLUDES(mutex_);
  bool rearm(uint64_t id, Entry& entry, Need need) REQUIRES(mutex_);
  void wake_parked() REQUIRES(mutex_);
  void on_tick();
  void expire_overdue();
  void accept_from(size_t listener, int at_most);
  void add(FileDescriptor socket);
  bool evict_one();
  // Up to kCandidates of those that can be evicted, the nearest to its deadline first.
  std::vector<uint64_t> candidates() REQUIRES(mutex_);
  void arm_listeners() REQUIRES(mutex_);
  void stop_accepting();
  void kick_all();
  void stop();
  static Outcome<> watch(const FileDescriptor& epoll, int fd, uint64_t id, uint32_t events);
  static bool arm(const FileDescriptor& epoll, int operation, int fd, uint64_t id, uint32_t events);
  Duration tick_interval() const;

  ConnectionSettings& settings_;
  const ChannelFactory make_channel_;
  FileDescriptor epoll_, arrivals_, timer_, stop_signal_;
  std::vector<std::jthread> workers_;

  mutable Mutex mutex_;
  CondVar emptied_;
  std::vector<std::shared_ptr<FileDescriptor>> listeners_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Entry> connections_ GUARDED_BY(mutex_);
  uint64_t next_id_ GUARDED_BY(mutex_);
  // Connections that wait for memory, the first to ask first; some can be gone since.
  std::vector<uint64_t> parked_ GUARDED_BY(mutex_);
  size_t returns_seen_ GUARDED_BY(mutex_) = 0;  // of memory, when they were woken last
  bool full_ GUARDED_BY(mutex_) = false;        // no connection can be evicted: new ones wait in the kernel
};

}  // namespace muster::server
