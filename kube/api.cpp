#include "kube/api.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "kube/page_size.h"

namespace muster::kube {
namespace {

using nlohmann::json;

// Whether this is a page of a list. Another object must not count as an empty page.
bool is_list(const json& page) {
  const auto items = page.find("items");
  return string_at(page, {"kind"}).ends_with("List") && !string_at(page, {"metadata", "resourceVersion"}).empty() &&
         items != page.end() && (items->is_array() || items->is_null());
}

// A list that expires this often in a row is requested in one piece, as far as that has place in memory: any user can
// fill the cluster. A larger one fails, and its watch begins again with pages.
constexpr int kMaxPagedTries = 3;
constexpr size_t kMostBytesInOnePiece = 8 * PageSize::kMostBytes;

KubeRequest write_request(std::string_view method, std::string path, const json& body, const WriteOptions& options) {
  KubeRequest request;
  request.method = method;
  request.path = std::move(path);
  request.body = to_text(body);
  request.accept = accept_header(options.metadata_only, "PartialObjectMetadata");
  if (!options.field_manager.empty()) request.query.emplace_back("fieldManager", options.field_manager);
  if (options.dry_run) request.query.emplace_back("dryRun", "All");
  request.managed_fields = options.managed_fields;
  request.not_after = options.not_after;
  return request;
}

// `limit` of 0: all at once.
KubeRequest list_request(const Resource& resource, const Selection& selection, const std::string& next, int limit) {
  KubeRequest request;
  request.path = collection_path(resource, selection.ns);
  request.accept = accept_header(selection.metadata_only, "PartialObjectMetadataList");
  request.timeout = std::chrono::seconds(60);
  request.repeatable = true;
  request.managed_fields = selection.managed_fields;
  if (!selection.label_selector.empty()) request.query.emplace_back("labelSelector", selection.label_selector);
  if (!selection.field_selector.empty()) request.query.emplace_back("fieldSelector", selection.field_selector);
  if (limit > 0) request.query.emplace_back("limit", std::to_string(limit));
  if (limit != 1) request.max_answer_bytes = limit > 1 ? PageSize::kMostBytes : kMostBytesInOnePiece;
  if (!next.empty()) request.query.emplace_back("continue", next);
  return request;
}

}  // namespace

std::string accept_header(bool metadata_only, std::string_view as) {
  if (!metadata_only) return "application/json";
  return "application/json;as=" + std::string(as) + ";g=meta.k8s.io;v=v1";
}

KubeApi::Answer KubeApi::get(const Resource& resource, std::string_view ns, std::string_view name,
                             std::stop_token stop) {
  KubeRequest request;
  request.path = object_path(resource, ns, name);
  request.repeatable = true;
  return send(request, stop);
}

namespace {

// An answer that is no list is an error.
KubeApi::Answer as_list(const Resource& resource, KubeApi::Answer answer) {
  if (!answer.ok() || (answer->is_object() && is_list(*answer))) return answer;
  return fail_with(
      unanswered(kUnreadableReason, "the answer for " + display_name(resource) + " is no list of objects"));
}

}  // namespace

Result<std::string, StatusError> KubeApi::list(const Resource& resource, const Selection& selection,
                                               const ListHandler& handler, std::stop_token stop) {
  std::string next;
  int tries = 1;
  PageSize size;
  while (true) {
    const bool paged = tries <= kMaxPagedTries;
    KubeRequest request = list_request(resource, selection, next, paged ? size.limit() : 0);
    size_t bytes = 0;
    request.answer_bytes = &bytes;
    auto page = as_list(resource, send(request, stop));
    if (!page.ok()) {
      if (paged && page.error().reason == kTooLargeReason && size.was_too_large()) continue;
      // The token of the next page has expired: the received pages belong to an old state, so begin again.
      if (!page.error().gone() || next.empty()) return fail_with(page.error());
      ++tries;
      next.clear();
      continue;
    }
    const auto version = string_at(*page, {"metadata", "resourceVersion"});
    if (next.empty()) handler.started();
    size.came((*page)["items"].size(), bytes);
    for (auto& item : (*page)["items"]) handler.item(item);
    next = string_at(*page, {"metadata", "continue"});
    if (next.empty()) return std::string(version);
  }
}

Result<bool, StatusError> KubeApi::find(const Resource& resource, const Selection& selection,
                                        const std::function<bool(const json& item)>& wanted, MonotonicTime not_after,
                                        std::stop_token stop) {
  std::string next;
  do {
    KubeRequest request = list_request(resource, selection, next, PageSize::kFirst);
    request.not_after = not_after;
    const auto page = as_list(resource, send(request, stop));
    if (!page.ok()) return fail_with(page.error());
    const json& items = array_at(*page, {"items"});
    if (std::any_of(items.begin(), items.end(), wanted)) return true;
    next = string_at(*page, {"metadata", "continue"});
  } while (!next.empty());
  return false;
}

KubeApi::Answer KubeApi::create(const Resource& resource, std::string_view ns, const json& object,
                                const WriteOptions& options, std::stop_token stop) {
  return send(write_request("POST", collection_path(resource, ns), object, options), stop);
}

KubeApi::Answer KubeApi::update(const Resource& resource, std::string_view ns, std::string_view name,
                                const json& object, const WriteOptions& options, std::stop_token stop) {
  auto request = write_request("PUT", object_path(resource, ns, name, options.subresource), object, options);
  request.repeatable = true;
  return send(request, stop);
}

KubeApi::Answer KubeApi::patch_merge(const Resource& resource, std::string_view ns, std::string_view name,
                                     const json& patch, const WriteOptions& options, std::stop_token stop) {
  auto request = write_request("PATCH", object_path(resource, ns, name, options.subresource), patch, options);
  request.content_type = "application/merge-patch+json";
  request.repeatable = true;  // setting a field twice has the same result as setting it once
  return send(request, stop);
}

KubeApi::Answer KubeApi::remove(const Resource& resource, std::string_view ns, std::string_view name,
                                const DeleteOptions& options, std::stop_token stop) {
  json body = {{"apiVersion", "v1"}, {"kind", "DeleteOptions"}};
  if (!options.propagation.empty()) body["propagationPolicy"] = options.propagation;
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.version.empty()) body["preconditions"]["resourceVersion"] = options.version;
  auto request = write_request("DELETE", object_path(resource, ns, name), body, {});
  request.not_after = options.not_after;
  request.repeatable = true;
  return send(request, stop);
}

}  // namespace muster::kube
