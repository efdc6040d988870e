#include "kube/resource.h"

namespace muster::kube {
namespace {

void append_encoded(std::string& text, std::string_view value) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const unsigned char byte : value) {
    const bool plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
                       byte == '-' || byte == '.' || byte == '_' || byte == '~';
    if (plain) {
      text += static_cast<char>(byte);
    } else {
      text += '%';
      text += kHex[byte >> 4];
      text += kHex[byte & 15];
    }
  }
}

}  // namespace

Resource resource_of(const ResourceType& type) {
  return {std::string(type.group), std::string(type.version), std::string(type.plural), type.namespaced,
          std::string(type.kind)};
}

std::string api_version(const Resource& resource) {
  return resource.group.empty() ? resource.version : resource.group + "/" + resource.version;
}

std::string display_name(const Resource& resource) {
  return resource.group.empty() ? resource.plural : resource.plural + "." + resource.group;
}

std::string collection_path(const Resource& resource, std::string_view ns) {
  std::string path = (resource.group.empty() ? "/api/" : "/apis/") + api_version(resource);
  if (resource.namespaced && !ns.empty()) {
    path += "/namespaces/";
    append_encoded(path, ns);
  }
  return path + "/" + resource.plural;
}

std::string object_path(const Resource& resource, std::string_view ns, std::string_view name,
                        std::string_view subresource) {
  std::string path = collection_path(resource, ns) + "/";
  append_encoded(path, name);
  if (!subresource.empty()) path.append("/").append(subresource);
  return path;
}

std::string with_query(std::string_view path, const Query& query) {
  std::string target(path);
  char separator = '?';
  for (const auto& [key, value] : query) {
    target += separator;
    append_encoded(target, key);
    target += '=';
    append_encoded(target, value);
    separator = '&';
  }
  return target;
}

}  // namespace muster::kube
