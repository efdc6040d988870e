// An API server in memory for commands that move a cluster: objects by path, the verbs that they use, and faults: the
// connection breaks at a chosen write, before or after it was done.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/codec/json.h"
#include "api/codec/json_patch.h"
#include "kube/api.h"

namespace muster::test {

class FakeCluster final : public kube::KubeApi {
 public:
  using json = nlohmann::json;

  // "/apis/apps/v1/namespaces/x/deployments/y"
  void put(const std::string& path, json object) {
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    const std::vector<std::string> parts = split(path);
    object["metadata"]["name"] = parts.back();
    if (const auto ns = namespace_of(path); !ns.empty()) object["metadata"]["namespace"] = ns;
    if (!object["metadata"].contains("uid")) object["metadata"]["uid"] = "uid-" + std::to_string(version_);
    objects[path] = std::move(object);
  }
  const json* find(const std::string& path) const {
    const auto found = objects.find(path);
    return found == objects.end() ? nullptr : &found->second;
  }

  Answer send(const kube::KubeRequest& request, std::stop_token) override {
    log.push_back(request.method + " " + request.path);
    if (ill) return fail_with(kube::StatusError{503, "ServiceUnavailable", "ill", {}, std::nullopt, ""});
    for (const std::string& part : forbidden) {
      if (request.path.find(part) != std::string::npos)
        return fail_with(
            kube::StatusError{403, "Forbidden", "you cannot " + request.method + " " + part, {}, std::nullopt, ""});
    }
    if (request.method == "GET") return read(request);
    if (request.path.ends_with("/token"))
      return token.empty() ? none(request.path) : Answer(json{{"status", {{"token", token}}}});
    if (request.path.ends_with("accessreviews") || request.path.ends_with("selfsubjectreviews")) return write(request);
    for (const auto& entry : request.query) {
      if (entry.first == "dryRun") return dry_run ? dry_run(json::parse(request.body)) : Answer(json::object());
    }
    ++writes;
    if (break_at && writes == *break_at && !done_before_break) return broken();
    Answer answer = write(request);
    if (answer) {
      if (after_write) after_write(*this);
    }
    if (break_at && writes == *break_at) return broken();
    if (break_at && writes > *break_at) return broken();
    return answer;
  }
  Outcome<kube::StatusError> stream(const kube::KubeRequest& request, const ByteSink& on_bytes,
                                    std::stop_token) override {
    log.push_back("STREAM " + request.path);
    return streams ? streams(request, on_bytes) : Outcome<kube::StatusError>(Done{});
  }

  std::map<std::string, json> objects;
  std::vector<std::string> log;
  std::set<std::string> forbidden, not_served;    // parts of paths
  std::function<void(FakeCluster&)> after_write;  // what controllers do
  std::function<json(const json& review)> review;
  std::function<Answer(const json& object)> dry_run;  // what webhooks make of it
  std::string token;                                  // of every service account; empty: there is none
  std::function<Outcome<kube::StatusError>(const kube::KubeRequest& request, const ByteSink& on_bytes)> streams;
  std::optional<int> break_at;  // the write at which the connection breaks, from 1
  bool done_before_break = false, ill = false;
  int writes = 0;

 private:
  static std::vector<std::string> split(const std::string& path) {
    std::vector<std::string> parts;
    size_t from = 1;
    for (size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', from)) {
      parts.push_back(path.substr(from, at - from));
      from = at + 1;
    }
    parts.push_back(path.substr(from));
    return parts;
  }
  static std::string namespace_of(const std::string& path) {
    const std::vector<std::string> parts = split(path);
    const size_t at = parts[0] == "api" ? 2 : 3;
    return parts.size() > at + 2 && parts[at] == "namespaces" ? parts[at + 1] : "";
  }
  static Answer broken() { return fail_with(kube::unanswered(kube::kUnreachableReason, "the connection broke")); }
  static Answer none(const std::string& path) {
    return fail_with(kube::StatusError{404, "NotFound", path + " is not there", {}, std::nullopt, path});
  }
  static Answer conflict(const std::string& path) {
    return fail_with(kube::StatusError{409, "Conflict", path + " has changed", {}, std::nullopt, path});
  }
  // "/apis/apps/v1" and "deployments" of a path of a collection or an object, and the namespace.
  struct Place {
    std::string prefix, plural, ns, name;
  };
  static Place place_of(const std::string& path) {
    std::vector<std::string> parts = split(path);
    Place place;
    size_t at = parts[0] == "api" ? 2 : 3;
    for (size_t i = 0; i < at; ++i) place.prefix += "/" + parts[i];
    if (parts.size() > at + 2 && parts[at] == "namespaces") {
      place.ns = parts[at + 1];
      at += 2;
    }
    place.plural = parts[at];
    if (parts.size() > at + 1) place.name = parts[at + 1];
    return place;
  }
  static std::string object_path(const Place& place) {
    return place.prefix + (place.ns.empty() ? "" : "/namespaces/" + place.ns) + "/" + place.plural + "/" + place.name;
  }
  static bool selected(const json& object, const kube::Query& query) {
    for (const auto& [key, value] : query) {
      if (key == "fieldSelector" && value != "metadata.name=" + std::string(string_at(object, {"metadata", "name"})))
        return false;
      if (key != "labelSelector") continue;
      std::string rest = value;
      while (!rest.empty()) {
        const std::string one = rest.substr(0, rest.find(','));
        rest = one.size() == rest.size() ? "" : rest.substr(one.size() + 1);
        const size_t equals = one.find('=');
        const auto there = label(object, one.substr(0, equals));
        if (!there || (equals != std::string::npos && *there != one.substr(equals + 1))) return false;
      }
    }
    return true;
  }
  Answer read(const kube::KubeRequest& request) {
    if (!request.path.starts_with("/api")) return none(request.path);
    const Place place = place_of(request.path);
    if (not_served.contains(place.plural))
      return fail_with(kube::StatusError{404, "NotFound", "not served", {}, std::nullopt, ""});
    if (!place.name.empty()) {
      const auto found = objects.find(object_path(place));
      if (found == objects.end()) return none(request.path);
      return found->second;
    }
    json items = json::array();
    for (const auto& [path, object] : objects) {
      const Place at = place_of(path);
      if (at.prefix != place.prefix || at.plural != place.plural) continue;
      if (!place.ns.empty() && at.ns != place.ns) continue;
      if (selected(object, request.query)) items.push_back(object);
    }
    return json{{"kind", "List"}, {"metadata", {{"resourceVersion", std::to_string(version_)}}}, {"items", items}};
  }
  Answer write(const kube::KubeRequest& request) {
    const Place place = place_of(request.path);
    const json body = request.body.empty() ? json() : json::parse(request.body);
    if (request.path.ends_with("reviews")) return review ? review(body) : json{{"status", {{"allowed", true}}}};
    if (request.method == "POST") {
      Place made = place;
      made.name = string_at(body, {"metadata", "name"});
      if (objects.contains(object_path(made)))
        return fail_with(kube::StatusError{409, "AlreadyExists", "it is there", {}, std::nullopt, made.name});
      put(object_path(made), body);
      return objects[object_path(made)];
    }
    const std::string path = object_path(place);
    const auto found = objects.find(path);
    const bool apply = request.content_type.starts_with("application/apply-patch");
    if (found == objects.end() && apply) {
      put(path, body);
      return objects[path];
    }
    if (found == objects.end()) return none(path);
    if (request.method == "DELETE") {
      const std::string_view uid = string_at(body, {"preconditions", "uid"});
      if (!uid.empty() && uid != string_at(found->second, {"metadata", "uid"})) return conflict(path);
      json gone = found->second;
      objects.erase(found);
      return gone;
    }
    json next = found->second;
    if (request.method == "PUT") {
      next = body;
    } else if (request.content_type == "application/json-patch+json") {
      next = next.patch(body);
    } else {
      next.merge_patch(body);
    }
    const std::string version(body.is_object() ? string_at(body, {"metadata", "resourceVersion"}) : "");
    if (!version.empty() && version != string_at(found->second, {"metadata", "resourceVersion"})) return conflict(path);
    next["metadata"]["uid"] = found->second["metadata"]["uid"];
    put(path, next);
    return objects[path];
  }

  int version_ = 0;
};

}  // namespace muster::test
