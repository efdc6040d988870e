#include "kube/status_error.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "base/whole_number.h"

namespace muster::kube {
namespace {

constexpr size_t kQuotedBytes = 300;

std::optional<Duration> seconds(std::string_view text) {
  const auto value = whole_number<int64_t>(text);
  // A day is longer than any server means; more is a mistake that would overflow later.
  if (!value || *value < 0 || *value > 86'400) return std::nullopt;
  return std::chrono::seconds(*value);
}

// A page of a proxy, shortened to fit into a log line.
std::string quoted(std::string_view body) {
  std::string text;
  for (const char c : body.substr(0, kQuotedBytes)) text += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  if (body.size() > kQuotedBytes) text += "...";
  return text;
}

}  // namespace

bool StatusError::cancelled() const {
  return code == 0 && reason == kCancelledReason;
}

StatusError unanswered(std::string_view reason, std::string message) {
  StatusError error;
  error.reason = reason;
  error.message = std::move(message);
  return error;
}

StatusError status_error(int code, std::string_view body, std::string_view retry_after) {
  StatusError error;
  error.code = code;
  error.retry_after = seconds(retry_after);
  const auto parsed = parse_json(body);
  if (!parsed.ok() || string_at(*parsed, {"kind"}) != "Status") {
    error.message = "the server answered HTTP " + std::to_string(code) + (body.empty() ? "" : ": ") + quoted(body);
    return error;
  }
  error.reason = string_at(*parsed, {"reason"});
  error.message = string_at(*parsed, {"message"});
  if (error.message.empty()) error.message = "the server answered HTTP " + std::to_string(code) + " without a message";
  error.object = string_at(*parsed, {"details", "name"});
  for (const auto& cause : array_at(*parsed, {"details", "causes"})) {
    error.causes.push_back({std::string(string_at(cause, {"reason"})), std::string(string_at(cause, {"message"})),
                            std::string(string_at(cause, {"field"}))});
  }
  if (!error.retry_after) {
    const auto asked = int_at(*parsed, {"details", "retryAfterSeconds"});
    if (asked && *asked > 0 && *asked <= 86'400) error.retry_after = std::chrono::seconds(*asked);
  }
  return error;
}

}  // namespace muster::kube
