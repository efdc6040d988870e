// What the routes for readers answer (explain, lists): JSON, Kubernetes' Status objects for what is refused.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/resource_type.h"
#include "server/metrics_server.h"
#include "server/transport/http.h"

namespace muster::server {

// The requested action of a reader on objects; an empty namespace means all, an empty name all of them.
struct ListAccess {
  std::string verb;
  const ResourceType* type;
  std::string ns{}, name{}, subresource{};
};

// The largest answers of lists: 100,000 items of the visibility API, or some thousand queues as a tree.
inline constexpr size_t kListMemory = 48UL * 1024 * 1024;

// "this user cannot list workloads.kueue.x-k8s.io in all namespaces ..."
std::string sentence_of(const ListAccess& access);

HttpResponse answer_json(int status, const nlohmann::json& body);
// A Status of Kubernetes, with its reason ("Forbidden").
HttpResponse refuse(int code, std::string_view reason, const std::string& message);

// X-Muster-Token where it is there, since the API server's proxy takes the other header; else the bearer token.
std::string_view token_of(const HttpRequest& request);
// `sent`: there was a token, and it is not one for muster.
HttpResponse unauthenticated(bool sent);
// nullopt: continue. `forbidden` is the message for authenticated users without the permission.
std::optional<HttpResponse> refusal_of(AuthDecision decision, const std::string& forbidden);
// This replica does not know the cluster yet.
HttpResponse not_synced();

// The parts of a path between slashes.
std::vector<std::string_view> path_parts(std::string_view path);

}  // namespace muster::server
