#include "server/transport/connection_loop.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

namespace muster::server {

namespace {

constexpr uint64_t kStopId = 0;
constexpr uint64_t kTimerId = 1;
constexpr uint64_t kArrivalsId = 2;
constexpr uint64_t kFirstListenerId = 3;
constexpr uint64_t kFirstConnectionId = 1024;
constexpr int kAcceptsPerTurn = 16;
constexpr size_t kCandidates = 16;
constexpr Duration kInHand = std::chrono::seconds(1);
constexpr int kMostWaiting = 1024;  // in the kernel: the backlog of listen_on()

uint32_t events_of(Need need) {
  switch (need) {
    case Need::kReadable:
      return EPOLLIN;
    case Need::kWritable:
      return EPOLLOUT;
    // A socket that can be read can nearly always be written, so this returns at once, after the other
    // connections.
    case Need::kTurn:
      return EPOLLIN | EPOLLOUT;
    case Need::kMemory:
    case Need::kClosed:
      return 0;
  }
  return 0;
}

// Bytes of the peer or its end of the connection; for a listener, a new connection.
bool has_input(int fd) {
  pollfd polled{.fd = fd, .events = POLLIN, .revents = 0};
  return ::poll(&polled, 1, 0) > 0;
}

}  // namespace

ConnectionLoop::ConnectionLoop(ConnectionSettings& settings, ChannelFactory make_channel)
    : settings_(settings), make_channel_(std::move(make_channel)), next_id_(kFirstConnectionId) {}

ConnectionLoop::~ConnectionLoop() {
  stop();
}

bool ConnectionLoop::arm(const FileDescriptor& epoll, int operation, int fd, uint64_t id, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  return ::epoll_ctl(epoll.get(), operation, fd, &event) == 0;
}

Outcome<> ConnectionLoop::watch(const FileDescriptor& epoll, int fd, uint64_t id, uint32_t events) {
  if (fd >= 0 && arm(epoll, EPOLL_CTL_ADD, fd, id, events)) return Done{};
  return fail(std::string("cannot watch a descriptor: ") + std::strerror(errno));
}

// Short enough for the shortest limit, and long enough to cost almost no CPU.
Duration ConnectionLoop::tick_interval() const {
  const auto& t = settings_.timeouts;
  const auto shortest = std::min({t.handshake, t.request, t.response, t.idle, t.linger});
  return std::clamp<Duration>(shortest / 4, std::chrono::milliseconds(5), std::chrono::seconds(1));
}

Outcome<> ConnectionLoop::start(std::vector<FileDescriptor> listeners, size_t workers) {
  epoll_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  arrivals_ = FileDescriptor(::epoll_create1(EPOLL_CLOEXEC));
  timer_ = FileDescriptor(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  stop_signal_ = FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!epoll_.valid() || !arrivals_.valid())
    return fail(std::string("cannot make an epoll instance: ") + std::strerror(errno));
  // One worker handles each tick, and one worker accepts all new connections.
  if (auto done = watch(epoll_, timer_.get(), kTimerId, EPOLLIN | EPOLLONESHOT); !done) return done;
  if (auto done = watch(epoll_, arrivals_.get(), kArrivalsId, EPOLLIN | EPOLLONESHOT); !done) return done;
  if (auto done = watch(epoll_, stop_signal_.get(), kStopId, EPOLLIN); !done) return done;

  const auto interval = tick_interval().count();
  itimerspec spec{};
  spec.it_interval.tv_sec = spec.it_value.tv_sec = interval / 1'000'000'000;
  spec.it_interval.tv_nsec = spec.it_value.tv_nsec = interval % 1'000'000'000;
  ::timerfd_settime(timer_.get(), 0, &spec, nullptr);

  {
    MutexLock lock(mutex_);
    for (auto& listener : listeners) {
      const uint64_t id = kFirstListenerId + listeners_.size();
      listeners_.push_back(std::make_shared<FileDescriptor>(std::move(listener)));
      if (auto done = watch(arrivals_, listeners_.back()->get(), id, EPOLLIN | EPOLLONESHOT); !done) return done;
    }
  }
  try {
    for (size_t i = 0; i < std::max<size_t>(workers, 1); ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error& error) {
    stop();
    return fail(std::string("cannot start a worker thread: ") + error.what());
  }
  return Done{};
}

void ConnectionLoop::work() {
  for (;;) {
    epoll_event event{};
    if (::epoll_wait(epoll_.get(), &event, 1, -1) != 1) continue;
    const uint64_t id = event.data.u64;
    if (id == kStopId) return;  // never read, so that it wakes every worker
    if (id == kTimerId) {
      on_tick();
    } else if (id == kArrivalsId) {
      on_arrival();
    } else {
      on_connection(id);
    }
  }
}

// A connection before its handshake, or a listener.
void ConnectionLoop::on_arrival() {
  epoll_event event{};
  if (::epoll_wait(arrivals_.get(), &event, 1, 0) == 1) {
    const uint64_t id = event.data.u64;
    if (id < kFirstConnectionId)
      accept_from(id - kFirstListenerId, kAcceptsPerTurn);
    else
      on_connection(id);
  }
  arm(epoll_, EPOLL_CTL_MOD, arrivals_.get(), kArrivalsId, EPOLLIN | EPOLLONESHOT);
}

void ConnectionLoop::on_connection(uint64_t id) {
  Connection* connection = nullptr;
  {
    MutexLock lock(mutex_);
    const auto it = connections_.find(id);
    if (it == connections_.end() || it->second.owned) return;
    it->second.owned = true;
    connection = it->second.connection.get();
  }
  Need need = connection->advance();
  // The tick possibly never sees it waiting.
  if (need == Need::kTurn && connection->deadline() <= settings_.clock->now().monotonic) need = connection->expire();
  give_back(id, *connection, need);
}

void ConnectionLoop::give_back(uint64_t id, Connection& connection, Need need) {
  std::unique_ptr<Connection> closed;  // destroyed after the lock is released
  MutexLock lock(mutex_);
  const auto it = connections_.find(id);
  if (need != Need::kClosed) {
    if (std::exchange(it->second.kicked, false)) need = Need::kTurn;
    it->second.owned = false;
    it->second.deadline = connection.deadline();
    // Under the lock: no other thread can close this descriptor between these two lines.
    const bool armed = rearm(id, it->second, need);
    wake_parked();
    if (armed) return;
  }
  closed = std::move(it->second.connection);
  connections_.erase(it);
  if (std::exchange(full_, false)) arm_listeners();
  if (connections_.empty()) emptied_.notify_all();
  wake_parked();
}

bool ConnectionLoop::rearm(uint64_t id, Entry& entry, Need need) {
  const Connection& connection = *entry.connection;
  entry.has_turn = need == Need::kMemory || need == Need::kTurn;
  if (need == Need::kMemory) {
    parked_.push_back(id);
    // Memory that was released in the meantime has woken no connection.
    if (connection.returns_seen() != settings_.work_memory.returns()) returns_seen_ = connection.returns_seen();
    return true;
  }
  const uint32_t events = events_of(need) | EPOLLONESHOT;
  if (entry.established || !connection.established()) {
    return arm(entry.established ? epoll_ : arrivals_, EPOLL_CTL_MOD, connection.fd(), id, events);
  }
  entry.established = true;
  ::epoll_ctl(arrivals_.get(), EPOLL_CTL_DEL, connection.fd(), nullptr);
  return arm(epoll_, EPOLL_CTL_ADD, connection.fd(), id, events);
}

// Runs once for all released memory. All waiting connections try again, in their order; a connection for which
// the memory is not enough waits again.
void ConnectionLoop::wake_parked() {
  if (parked_.empty()) return;
  const size_t returns = settings_.work_memory.returns();
  if (returns == std::exchange(returns_seen_, returns)) return;
  for (const uint64_t id : std::exchange(parked_, {})) {
    const auto it = connections_.find(id);
    if (it != connections_.end() && !it->second.owned) rearm(id, it->second, Need::kTurn);
  }
}

void ConnectionLoop::on_tick() {
  uint64_t ticks = 0;
  if (::read(timer_.get(), &ticks, sizeof ticks) == sizeof ticks) expire_overdue();
  arm(epoll_, EPOLL_CTL_MOD, timer_.get(), kTimerId, EPOLLIN | EPOLLONESHOT);
}

void ConnectionLoop::expire_overdue() {
  const auto now = settings_.clock->now().monotonic;
  std::vector<std::pair<uint64_t, Connection*>> expired;
  {
    MutexLock lock(mutex_);
    for (auto& [id, entry] : connections_) {
      if (entry.owned || entry.deadline > now) continue;
      entry.owned = true;
      expired.emplace_back(id, entry.connection.get());
    }
    // Listeners that paused because descriptors or places ran out try again.
    full_ = false;
    arm_listeners();
  }
  for (const auto& [id, connection] : expired) give_back(id, *connection, connection->expire());
}

void ConnectionLoop::accept_from(size_t listener, int at_most) {
  std::shared_ptr<FileDescriptor> source;  // drain() can remove it from the list in the meantime
  {
    MutexLock lock(mutex_);
    if (listener >= listeners_.size()) return;
    source = listeners_[listener];
  }
  for (int i = 0; i < at_most; ++i) {
    const bool full = open_connections() >= settings_.limits.max_connections && has_input(source->get());
    if (full && !evict_one()) {
      MutexLock lock(mutex_);
      full_ = true;
      return;
    }
    FileDescriptor socket(::accept4(source->get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket.valid()) {
      add(std::move(socket));
      continue;
    }
    const int error = errno;
    if (error == EAGAIN || error == EWOULDBLOCK) break;
    if (error == EINTR || error == ECONNABORTED) continue;
    settings_.report(ServerEvent::kAcceptFailed, std::strerror(error));
    evict_one();
    return;  // the next tick arms the listener again: trying at once would spin
  }
  MutexLock lock(mutex_);
  if (listener < listeners_.size()) {
    arm(arrivals_, EPOLL_CTL_MOD, listeners_[listener]->get(), kFirstListenerId + listener, EPOLLIN | EPOLLONESHOT);
  }
}

void ConnectionLoop::add(FileDescriptor socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int fd = socket.get();
  auto channel = make_channel_(std::move(socket));
  if (!channel) return settings_.report(ServerEvent::kNoCertificate, "");

  auto connection = std::make_unique<Connection>(std::move(channel), settings_);
  MutexLock lock(mutex_);
  const uint64_t id = next_id_++;
  const auto deadline = connection->deadline();
  connections_.emplace(id, Entry{std::move(connection), deadline});
  if (!arm(arrivals_, EPOLL_CTL_ADD, fd, id, EPOLLIN | EPOLLONESHOT)) connections_.erase(id);
}

std::vector<uint64_t> ConnectionLoop::candidates() {
  // The client can still use a connection that has just been answered: closing it now can fail a request that
  // is on its way.
  const Duration idle = settings_.timeouts.idle;
  const MonotonicTime just_answered = settings_.clock->now().monotonic + idle - std::min(kInHand, idle / 2);
  std::vector<std::pair<MonotonicTime, uint64_t>> waiting;
  for (const auto& [id, entry] : connections_) {
    const bool in_hand = entry.established && entry.deadline > just_answered;
    if (!entry.owned && !entry.has_turn && !in_hand) waiting.emplace_back(entry.deadline, id);
  }
  const size_t count = std::min(kCandidates, waiting.size());
  std::partial_sort(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(count), waiting.end());
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(waiting[i].second);
  return ids;
}

// Closes the connection that is nearest to its deadline among the connections that wait for their peers.
// Connections that never finish a handshake or a request come first, so a flood of them mostly closes its own
// connections. A connection with bytes that no worker has read yet is never closed: under load these bytes are
// a request, and the API server would answer its user with an error.
bool ConnectionLoop::evict_one() {
  std::unique_ptr<Connection> victim;
  {
    MutexLock lock(mutex_);
    for (const uint64_t id : candidates()) {
      const auto it = connections_.find(id);
      if (has_input(it->second.connection->fd())) continue;
      victim = std::move(it->second.connection);
      connections_.erase(it);
      break;
    }
  }
  if (!victim) return false;
  settings_.report(ServerEvent::kConnectionEvicted, "");
  return true;
}

size_t ConnectionLoop::open_connections() const {
  MutexLock lock(mutex_);
  return connections_.size();
}

void ConnectionLoop::arm_listeners() {
  for (size_t i = 0; i < listeners_.size(); ++i)
    arm(arrivals_, EPOLL_CTL_MOD, listeners_[i]->get(), kFirstListenerId + i, EPOLLIN | EPOLLONESHOT);
}

// Connections that the kernel has already accepted belong to clients that can have sent a request, so they are
// accepted before the listener is closed.
void ConnectionLoop::stop_accepting() {
  size_t count = 0;
  {
    MutexLock lock(mutex_);
    count = listeners_.size();
  }
  for (size_t i = 0; i < count; ++i) accept_from(i, kMostWaiting);
  MutexLock lock(mutex_);
  listeners_.clear();
}

// Lets every waiting connection run once, so that it sees the new drain phase.
void ConnectionLoop::kick_all() {
  MutexLock lock(mutex_);
  for (auto& [id, entry] : connections_) {
    entry.kicked = entry.owned;
    if (!entry.owned) rearm(id, entry, Need::kTurn);
  }
}

void ConnectionLoop::close_after_answers() {
  settings_.drain_phase = DrainPhase::kLastRequests;
}

void ConnectionLoop::drain(const DrainTimes& times) {
  if (workers_.empty()) return;
  const auto begin = settings_.clock->now().monotonic;
  const auto grace_end = begin + std::min(times.idle_grace, times.patience);
  settings_.drain_phase = DrainPhase::kLastRequests;
  stop_accepting();
  const auto wait_until_empty = [this](MonotonicTime deadline) {
    MutexLock lock(mutex_);
    while (!connections_.empty() && emptied_.wait_until(mutex_, deadline) == std::cv_status::no_timeout) {
    }
    return connections_.empty();
  };
  if (!wait_until_empty(grace_end)) {
    settings_.drain_phase = DrainPhase::kClosing;
    kick_all();
    wait_until_empty(begin + times.patience);
  }
  stop();
}

void ConnectionLoop::stop() {
  const uint64_t one = 1;
  if (stop_signal_.valid() && ::write(stop_signal_.get(), &one, sizeof one) != sizeof one) std::abort();
  workers_.clear();  // joins
  MutexLock lock(mutex_);
  listeners_.clear();
  connections_.clear();
}

}  // namespace muster::server
