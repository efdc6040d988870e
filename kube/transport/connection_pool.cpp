#include "kube/transport/connection_pool.h"

namespace muster::kube {
namespace {

// kube-apiserver closes connections that are idle for 90 s; use a clearly shorter time.
constexpr Duration kLongestIdle = std::chrono::seconds(60);

}  // namespace

ConnectionPool::ConnectionPool(Endpoint endpoint, size_t max_in_flight, const Clock& clock)
    : endpoint_(std::move(endpoint)), max_in_flight_(max_in_flight), clock_(clock) {}

ConnectionPool::Lease::~Lease() {
  if (pool_ != nullptr) pool_->give_back(std::move(connection_));
}

std::optional<ConnectionPool::Lease> ConnectionPool::take(const Identity& identity, std::stop_token stop) {
  const std::stop_callback wake(stop, [this] {
    const MutexLock lock(mutex_);
    freed_.notify_all();
  });
  std::unique_ptr<Connection> connection;
  {
    const MutexLock lock(mutex_);
    while (in_flight_ >= max_in_flight_ && !stop.stop_requested()) freed_.wait(mutex_);
    if (stop.stop_requested()) return std::nullopt;
    ++in_flight_;
    connection = newest_idle(identity);
  }
  if (!connection) connection = separate(identity);
  return Lease(this, std::move(connection));
}

std::unique_ptr<Connection> ConnectionPool::newest_idle(const Identity& identity) {
  const MonotonicTime oldest = clock_.now().monotonic - kLongestIdle;
  std::erase_if(idle_, [&](const Idle& idle) { return idle.since < oldest || idle.connection->tls() != identity.tls; });
  while (!idle_.empty()) {
    auto connection = std::move(idle_.back().connection);
    idle_.pop_back();
    if (connection->reusable()) return connection;
  }
  return nullptr;
}

std::unique_ptr<Connection> ConnectionPool::separate(const Identity& identity) const {
  return std::make_unique<Connection>(endpoint_, identity.tls, clock_);
}

void ConnectionPool::give_back(std::unique_ptr<Connection> connection) {
  const bool keep = connection->reusable();
  {
    const MutexLock lock(mutex_);
    if (keep) idle_.push_back({std::move(connection), clock_.now().monotonic});
    --in_flight_;
    freed_.notify_one();
  }
}

}  // namespace muster::kube
