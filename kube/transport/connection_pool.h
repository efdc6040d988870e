// Kept-alive connections to one API server, and the bound on how many are in use.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/mutex.h"
#include "kube/transport/connection.h"
#include "kube/transport/credentials.h"

namespace muster::kube {

// Thread-safe.
class ConnectionPool {
 public:
  // `clock` must outlive it.
  ConnectionPool(Endpoint endpoint, size_t max_in_flight, const Clock& clock);

  // One connection in use; gives itself back.
  class Lease {
   public:
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), connection_(std::move(other.connection_)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Connection& operator*() const { return *connection_; }

   private:
    friend class ConnectionPool;
    Lease(ConnectionPool* pool, std::unique_ptr<Connection> connection)
        : pool_(pool), connection_(std::move(connection)) {}
    ConnectionPool* pool_;
    std::unique_ptr<Connection> connection_;
  };

  // Waits until fewer than max_in_flight leases are out; nullopt when stopped. The connection speaks
  // with `identity`'s certificates: idle ones with others are closed. It is possibly not connected
  // yet.
  std::optional<Lease> take(const Identity& identity, std::stop_token stop) EXCLUDES(mutex_);

  // A connection that the pool does not count, for streams.
  std::unique_ptr<Connection> separate(const Identity& identity) const;

 private:
  struct Idle {
    std::unique_ptr<Connection> connection;
    MonotonicTime since;
  };
  void give_back(std::unique_ptr<Connection> connection) EXCLUDES(mutex_);
  std::unique_ptr<Connection> newest_idle(const Identity& identity) REQUIRES(mutex_);

  const Endpoint endpoint_;
  const size_t max_in_flight_;
  const Clock& clock_;

  Mutex mutex_;
  CondVar freed_;
  size_t in_flight_ GUARDED_BY(mutex_) = 0;
  std::vector<Idle> idle_ GUARDED_BY(mutex_);  // the longest unused first
};

}  // namespace muster::kube
