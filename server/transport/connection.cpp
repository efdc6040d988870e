#include "server/transport/connection.h"

#include <algorithm>
#include <array>
#include <utility>

namespace muster::server {

namespace {

constexpr size_t kReadSize = 16 * 1024;    // one TLS record
constexpr size_t kTurnBytes = 256 * 1024;  // what one connection can read before others get their turn
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

Need need_of(IoState state) {
  if (state == IoState::kAgain) return Need::kTurn;
  return state == IoState::kWantWrite ? Need::kWritable : Need::kReadable;
}
bool blocked(IoState state) {
  return state == IoState::kWantRead || state == IoState::kWantWrite || state == IoState::kAgain;
}

}  // namespace

Connection::Connection(std::unique_ptr<Channel> channel, ConnectionSettings& settings)
    : channel_(std::move(channel)), settings_(settings) {
  begin(Phase::kHandshake, settings_.timeouts.handshake);
}

Connection::~Connection() {
  give_back_held();
  settings_.buffered_bytes -= booked_;
}

void Connection::begin(Phase phase, Duration limit) {
  phase_ = phase;
  deadline_ = settings_.clock->now().monotonic + limit;
}

Need Connection::expire() {
  std::string_view late_with;
  switch (phase_) {
    case Phase::kHandshake:
      late_with = "with the handshake";
      break;
    case Phase::kReading:
      if (input_.empty()) {
        start_lingering();
        return advance();
      }
      late_with = "with sending its request";
      break;
    case Phase::kWaiting:
      refuse({503, "other large requests are being worked on; try again"});
      return advance();
    case Phase::kAnswering:
      late_with = "with taking the answer";
      break;
    case Phase::kLingering:
      return Need::kClosed;
  }
  settings_.report(ServerEvent::kTimedOut, late_with);
  give_back_held();  // before the search for connections that wait for memory
  return Need::kClosed;
}

Need Connection::advance() {
  for (;;) {
    Pause pause;
    switch (phase_) {
      case Phase::kHandshake:
        pause = handshake();
        break;
      case Phase::kReading:
        pause = read_request();
        break;
      case Phase::kWaiting:
        pause = wait_for_memory();
        break;
      case Phase::kAnswering:
        pause = write_answer();
        break;
      case Phase::kLingering:
        pause = linger();
        break;
    }
    if (pause) return *pause;
  }
}

Connection::Pause Connection::handshake() {
  const auto result = channel_->handshake();
  if (blocked(result.state)) return need_of(result.state);
  if (result.state != IoState::kDone) {
    settings_.report(ServerEvent::kHandshakeFailed, channel_->error());
    return Need::kClosed;
  }
  begin(Phase::kReading, settings_.timeouts.idle);
  return Need::kTurn;  // beside the connections that have finished their handshake
}

Connection::Pause Connection::read_request() {
  for (size_t turn = 0; turn < kTurnBytes; turn += kReadSize) {
    if (!input_.empty()) {
      consider_input();
      if (phase_ != Phase::kReading) return std::nullopt;
    }
    if (auto pause = receive()) return pause;
    if (phase_ != Phase::kReading) return std::nullopt;
  }
  return Need::kTurn;
}

Connection::Pause Connection::receive() {
  // Read beside the buffer, so that the buffer is never larger than the received bytes: one byte from each of
  // many slow peers must not reserve 16 KiB for each.
  std::array<char, kReadSize> chunk;
  const auto result = channel_->read(chunk);
  const size_t before = input_.size();
  switch (result.state) {
    case IoState::kDone:
      make_room(result.bytes);
      input_.append(chunk.data(), result.bytes);
      if (before == 0) begin(Phase::kReading, settings_.timeouts.request);
      if (!book_memory()) refuse({503, "too many requests are being received; try again"});
      return std::nullopt;
    case IoState::kWantRead:
    case IoState::kWantWrite:
      if (before == 0) {
        if (settings_.drain_phase == DrainPhase::kClosing) return start_lingering();
        release_input();  // an idle connection keeps no buffer
      }
      return need_of(result.state);
    case IoState::kAgain:
      return std::nullopt;  // counts like received bytes
    case IoState::kAbused:
      settings_.report(ServerEvent::kConnectionAbused, channel_->error());
      return Need::kClosed;
    case IoState::kEnd:
      if (before > 0) settings_.report(ServerEvent::kRequestRefused, "the peer closed in the middle of a request");
      return Need::kClosed;
    case IoState::kFailed:
      break;
  }
  return Need::kClosed;
}

// The buffer doubles as strings do, but never beyond the request's end: that would book
// twice the size of a large body.
void Connection::make_room(size_t bytes) {
  if (!head_ || input_.size() + bytes <= input_.capacity()) return;
  const size_t whole = std::max(head_->size + head_->content_length, input_.size() + bytes);
  std::string larger;  // a string with a buffer at least doubles its capacity for every requested size
  larger.reserve(std::min(whole, 2 * (input_.size() + bytes)));
  larger.append(input_);
  input_.swap(larger);
}

// Checks the received bytes: first the head, then the body, then the whole request.
void Connection::consider_input() {
  if (!head_) {
    const auto end = find_head_end(input_, searched_, settings_.limits);
    if (!end) return refuse(end.error());
    if (!*end) return;
    auto head = parse_head(std::string_view(input_).substr(0, **end), settings_.routes, settings_.limits);
    if (!head) return refuse(head.error());
    // Before a byte of the body is taken.
    if (!head->route->strangers) {
      if (const std::string why = channel_->stranger_because(); !why.empty()) return refuse({403, why});
    }
    head_ = std::move(*head);
    head_->peer = channel_.get();
  }
  const bool complete = input_.size() - head_->size >= head_->content_length;
  if (complete) {
    begin(Phase::kWaiting, settings_.timeouts.turn);
  } else if (head_->expects_continue) {
    head_->expects_continue = false;
    output_ = kContinue;
    output_is_interim_ = true;
    phase_ = Phase::kAnswering;  // under the deadline of the request
  }
}

Connection::Pause Connection::wait_for_memory() {
  const size_t whole = settings_.work_memory.size();
  size_t needs = head_->route->memory ? head_->route->memory(head_->content_length) : 0;
  if (needs <= kLightMemory) needs = 0;
  if (needs > whole) {
    refuse({413, "a body of " + std::to_string(head_->content_length) + " bytes may need more than the " +
                     std::to_string(whole) + " bytes of memory for reviews; raise muster's memory limit"});
    return std::nullopt;
  }
  returns_seen_ = settings_.work_memory.returns();
  if (needs > 0 && !settings_.work_memory.take(needs)) return Need::kMemory;
  serve(needs);
  return std::nullopt;
}

// `memory` has been taken for it.
void Connection::serve(size_t memory) {
  const auto body = std::string_view(input_).substr(head_->size, head_->content_length);
  close_after_answer_ = head_->wants_close || settings_.drain_phase != DrainPhase::kServing;
  output_ = settings_.answer(*head_, body, close_after_answer_);
  if (memory > 0) {
    // Memory of the answer is released together with it: slow readers must not hold more memory than is
    // counted.
    const size_t kept = head_->route->large_answers ? std::min(memory, output_.capacity()) : 0;
    held_ = kept;
    if (settings_.after_large) settings_.after_large();
    settings_.work_memory.give_back(memory - kept);
  }
  // The bytes that follow are the next request, never a remainder of this request.
  input_.erase(0, head_->size + head_->content_length);
  if (input_.capacity() > kTurnBytes) input_.shrink_to_fit();
  book_memory();
  begin(Phase::kAnswering, settings_.timeouts.response);
}

void Connection::give_back_held() {
  if (held_ > 0) settings_.work_memory.give_back(std::exchange(held_, 0));
}

void Connection::refuse(const HttpRefusal& refusal) {
  settings_.report(ServerEvent::kRequestRefused, std::to_string(refusal.status) + " " + refusal.message);
  output_ = to_wire(refusal);
  close_after_answer_ = true;
  release_input();
  begin(Phase::kAnswering, settings_.timeouts.response);
}

Connection::Pause Connection::write_answer() {
  while (written_ < output_.size()) {
    const auto result = channel_->write(std::string_view(output_).substr(written_));
    if (blocked(result.state)) return need_of(result.state);
    if (result.state != IoState::kDone) {
      give_back_held();
      return Need::kClosed;
    }
    written_ += result.bytes;
  }
  std::string().swap(output_);
  written_ = 0;
  give_back_held();
  if (output_is_interim_) {
    output_is_interim_ = false;
    phase_ = Phase::kReading;
    return std::nullopt;
  }
  searched_ = 0;
  head_.reset();
  if (close_after_answer_) return start_lingering();

  const bool more = !input_.empty() || channel_->has_buffered();
  begin(Phase::kReading, input_.empty() ? settings_.timeouts.idle : settings_.timeouts.request);
  if (more) return Need::kTurn;
  release_input();
  return Need::kReadable;
}

// Closing a socket while the peer still sends would reset the connection and could discard our last answer. So
// the connection ends TLS first, and then reads to the end.
Connection::Pause Connection::start_lingering() {
  channel_->finish_writing();
  release_input();
  begin(Phase::kLingering, settings_.timeouts.linger);
  return std::nullopt;
}

Connection::Pause Connection::linger() {
  for (size_t turn = 0; turn < kTurnBytes; turn += kReadSize) {
    const auto result = channel_->discard();
    if (blocked(result.state)) return need_of(result.state);
    if (result.state != IoState::kDone) return Need::kClosed;
  }
  return Need::kTurn;
}

void Connection::release_input() {
  std::string().swap(input_);
  book_memory();
}

bool Connection::book_memory() {
  const size_t holds = input_.capacity() + output_.capacity();
  const size_t total = settings_.buffered_bytes += holds - booked_;
  const bool grew = holds > booked_;
  booked_ = holds;
  return !grew || total <= settings_.limits.max_buffered_bytes;
}

}  // namespace muster::server
