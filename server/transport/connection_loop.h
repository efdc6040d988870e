// Threads, sockets and deadlines of one server: who waits for what, and who may go on.
//
// All workers wait on one epoll instance. Every descriptor is armed for one event
// (EPOLLONESHOT), so a connection belongs to the one worker that got its event until
// that worker arms it again, and no request is handed from thread to thread. Waiting
// connections cost no thread and, but for one look at the deadlines per tick, no CPU.
//
// Listeners and handshakes are on an epoll instance of their own, which is a single entry
// in the one of all. So they get one turn in each round, on one worker at a time: however
// many strangers connect, those who are connected wait for a handshake or two, not for all.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "server/transport/connection.h"

namespace muster {

class ConnectionLoop {
 public:
  // Makes the server's end of an accepted connection; nullptr: close it.
  using ChannelFactory = std::function<std::unique_ptr<Channel>(FileDescriptor socket)>;

  // `settings` must outlive the loop.
  ConnectionLoop(ConnectionSettings& settings, ChannelFactory make_channel);
  // Stops at once; whoever wants to be polite calls drain() before.
  ~ConnectionLoop();

  // Takes listening sockets and begins to serve. Once.
  Outcome<> start(std::vector<FileDescriptor> listeners, size_t workers);

  // Stops accepting, lets the requests under way be answered, closes the rest, joins
  // the workers. Returns when all is done or `patience` is over. Blocks its caller,
  // who must be no worker; calling it twice does no harm.
  void drain(Duration patience);

  size_t open_connections() const;

 private:
  struct Entry {
    std::unique_ptr<Connection> connection;
    MonotonicTime deadline;    // copied, because the owner alone may look into the connection
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
  // Up to kCandidates of those that may be evicted, the nearest to its deadline first.
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
  // Connections that wait for memory, the first to ask first; some may be gone since.
  std::vector<uint64_t> parked_ GUARDED_BY(mutex_);
  size_t returns_seen_ GUARDED_BY(mutex_) = 0;  // of memory, when they were woken last
  bool full_ GUARDED_BY(mutex_) = false;        // nobody could be evicted, and who comes waits in the kernel's queue
};

}  // namespace muster
