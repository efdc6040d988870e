// Where an object lives on the API server: paths and queries, as text. Pure.
// Source: Kubernetes API concepts, "Resource URIs".
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/meta/resource_type.h"

namespace muster::kube {

// A kind of object as the API server serves it: {"batch", "v1", "jobs", true, "Job"}.
// The core group is "". `kind` is stamped on objects that come without one (items of
// lists, metadata-only objects); empty leaves them as they come.
struct Resource {
  std::string group;
  std::string version;
  std::string plural;
  bool namespaced = false;
  std::string kind;
};

Resource resource_of(const ResourceType& type);

// "batch/v1", or "v1" for the core group.
std::string api_version(const Resource& resource);
// "jobs.batch", or "namespaces" for the core group: the name in messages and metrics.
std::string display_name(const Resource& resource);

// The path of a collection: of one namespace, or of all when `ns` is empty.
std::string collection_path(const Resource& resource, std::string_view ns);
// The path of one object, or of its subresource ("status", "scale") when given.
std::string object_path(const Resource& resource, std::string_view ns, std::string_view name,
                        std::string_view subresource = "");

using Query = std::vector<std::pair<std::string, std::string>>;
// `path?key=value&...`, percent-encoded; just the path when there is nothing to ask.
std::string with_query(std::string_view path, const Query& query);

// Which part of a collection, and how much of each object.
struct Selection {
  std::string ns{};              // empty: all namespaces
  std::string label_selector{};  // "a=b,c in (d,e)"
  std::string field_selector{};  // "metadata.name=x"
  // PartialObjectMetadata: labels, annotations and owners for a fraction of the bytes.
  bool metadata_only = false;
  // With metadata.managedFields, which are left out otherwise.
  bool managed_fields = false;
};

}  // namespace muster::kube
