// Threads, sockets and deadlines of one server: who waits for what, and who may go on.
//
// All workers wait on one epoll instance. Every descriptor is armed for one event
// (EPOLLONESHOT), so a connection belongs to the one worker that got its event until
// that worker arms it again, and no request is handed from thread to thread. Waiting
// connections cost no thread and, but for one look at the deadlines per tick, no CPU.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "server/connection.h"

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
    MonotonicTime deadline;  // copied, because the owner alone may look into the connection
    bool owned = false;      // by the worker that got its event
    bool kicked = false;     // while it was owned: give it a further turn
  };

  void work();
  void on_connection(uint64_t id);
  // Ends a turn: arms the connection for what it needs, or closes it.
  void give_back(uint64_t id, Connection& connection, Need need) EXCLUDES(mutex_);
  void on_tick();
  void expire_overdue();
  void accept_from(size_t listener);
  void add(FileDescriptor socket);
  void evict_one();
  void stop_accepting();
  void kick_all();
  void stop();
  Outcome<> watch(int fd, uint64_t id, uint32_t events);
  bool arm(int operation, int fd, uint64_t id, uint32_t events) const;
  Duration tick_interval() const;

  ConnectionSettings& settings_;
  const ChannelFactory make_channel_;
  FileDescriptor epoll_, timer_, stop_signal_;
  std::vector<std::jthread> workers_;

  mutable Mutex mutex_;
  CondVar emptied_;
  std::vector<std::shared_ptr<FileDescriptor>> listeners_ GUARDED_BY(mutex_);
  std::unordered_map<uint64_t, Entry> connections_ GUARDED_BY(mutex_);
  uint64_t next_id_ GUARDED_BY(mutex_);
};

}  // namespace muster
