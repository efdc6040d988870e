// The API server's verbs, as calls that return values. What sends them is behind an
// interface, so that watches, the authorizer and tests need no network.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/resource.h"
#include "kube/status_error.h"

namespace muster::kube {

// A request as a value: nothing happens until it is sent.
struct KubeRequest {
  std::string method = "GET";
  std::string path;  // without query
  Query query{};
  // Besides those that every request has.
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  std::string content_type = "application/json";
  std::string accept = "application/json";
  // For one attempt, from connecting to the last byte.
  Duration timeout = std::chrono::seconds(30);
  // Whether doing it twice is doing it once, so that it can be sent again when no
  // answer came.
  bool repeatable = false;
  // Never retried, for any answer: the caller has its own schedule.
  bool once = false;
  // No attempt starts at this time or later, not even after a wait for a connection or
  // for a retry (kTooLateReason), and none is waited for any longer: for writes of a leader.
  std::optional<MonotonicTime> not_after{};
  // A longer answer is not read (kTooLargeReason). 0: the client's own bound.
  size_t max_answer_bytes = 0;
  // Whether metadata.managedFields of the answer are kept; they are half of most objects, and few read them.
  bool managed_fields = false;
  // Where to put the length of the answer; can be null.
  size_t* answer_bytes = nullptr;
};

struct WriteOptions {
  std::string subresource{};    // "status"
  std::string field_manager{};  // empty: the server takes it from the user agent
  bool dry_run = false;
  // The answer is a PartialObjectMetadata: for callers that need only the new version.
  bool metadata_only = false;
  bool managed_fields = false;               // as KubeRequest's
  std::optional<MonotonicTime> not_after{};  // as KubeRequest's
};

struct DeleteOptions {
  std::string propagation{};                 // Background, Foreground or Orphan; empty: the kind's default
  std::string uid{};                         // only if the object is still this one
  std::string version{};                     // only if its resourceVersion is still this one
  std::optional<MonotonicTime> not_after{};  // as KubeRequest's
};

// What a paged list brings: `started` when its first page is there, and again when the
// server has forgotten the list halfway (what came before is void then); `item` for
// each object.
struct ListHandler {
  std::function<void()> started;
  std::function<void(nlohmann::json& item)> item;
};

// Thread-safe. Every call blocks until it has an answer; a requested stop ends it
// with StatusError::cancelled().
class KubeApi {
 public:
  using Answer = Result<nlohmann::json, StatusError>;
  // Bytes of a streamed answer; false ends the stream.
  using ByteSink = std::function<bool(std::string_view)>;

  virtual ~KubeApi() = default;

  // Sends, retries as kube/retry.h says, and parses the answer. An empty answer is null.
  virtual Answer send(const KubeRequest& request, std::stop_token stop) = 0;
  // Sends once, on a separate connection that does not count as in flight, and passes the body on as it arrives.
  // `request.timeout` limits the pause between bytes. Done when the server has ended the body correctly, or when
  // on_bytes ends it.
  virtual Outcome<StatusError> stream(const KubeRequest& request, const ByteSink& on_bytes, std::stop_token stop) = 0;

  Answer get(const Resource& resource, std::string_view ns, std::string_view name, std::stop_token stop = {});
  // Pages of a few megabytes (kube/page_size.h) from a consistent read. The value is the list's
  // resourceVersion.
  Result<std::string, StatusError> list(const Resource& resource, const Selection& selection,
                                        const ListHandler& handler, std::stop_token stop = {});
  // Whether the list has such an object: small pages, read until one has it.
  Result<bool, StatusError> find(const Resource& resource, const Selection& selection,
                                 const std::function<bool(const nlohmann::json& item)>& wanted, MonotonicTime not_after,
                                 std::stop_token stop = {});
  Answer create(const Resource& resource, std::string_view ns, const nlohmann::json& object,
                const WriteOptions& options = {}, std::stop_token stop = {});
  // Conflicts unless metadata.resourceVersion is current (or absent, where the kind allows that).
  Answer update(const Resource& resource, std::string_view ns, std::string_view name, const nlohmann::json& object,
                const WriteOptions& options = {}, std::stop_token stop = {});
  // RFC 7396. Put metadata.resourceVersion into the patch to make it conditional.
  Answer patch_merge(const Resource& resource, std::string_view ns, std::string_view name, const nlohmann::json& patch,
                     const WriteOptions& options = {}, std::stop_token stop = {});
  // The deleted object, or a Status. A precondition that does not hold is a conflict.
  Answer remove(const Resource& resource, std::string_view ns, std::string_view name, const DeleteOptions& options = {},
                std::stop_token stop = {});
};

// The Accept header for whole objects or their metadata only: `as` is
// "PartialObjectMetadata" or "PartialObjectMetadataList".
std::string accept_header(bool metadata_only, std::string_view as);

}  // namespace muster::kube
