#include "server/visibility_answer.h"

#include <algorithm>
#include <vector>

#include "api/meta/names.h"

namespace muster::server {
namespace {

constexpr ResourceType kVisibleClusterQueues{
    explain::kVisibilityGroup, "v1beta2", "clusterqueues", "ClusterQueue", false, "visibility.kueue.x-k8s.io/v1beta2"};
constexpr ResourceType kVisibleLocalQueues{
    explain::kVisibilityGroup, "v1beta2", "localqueues", "LocalQueue", true, "visibility.kueue.x-k8s.io/v1beta2"};

bool is_version(std::string_view text) {
  return std::find(explain::kVisibilityVersions.begin(), explain::kVisibilityVersions.end(), text) !=
         explain::kVisibilityVersions.end();
}

auto bad_question(const std::string& why) {
  return fail_with(refuse(400, "BadRequest", why));
}

}  // namespace

Result<PendingQuestion, HttpResponse> read_pending_question(std::string_view path, std::string_view query,
                                                            UnknownParameters unknown) {
  const std::vector<std::string_view> parts = path_parts(path.substr(kVisibilityPath.size()));
  const bool versioned = is_version(parts[0]);
  const bool cluster = versioned && parts.size() == 4 && parts[1] == "clusterqueues" && parts[3] == "pendingworkloads";
  const bool local = versioned && parts.size() == 6 && parts[1] == "namespaces" && parts[3] == "localqueues" &&
                     parts[5] == "pendingworkloads";
  if (!cluster && !local) {
    return fail_with(refuse(404, "NotFound",
                            "ask for .../{v1beta1,v1beta2}/clusterqueues/NAME/pendingworkloads or "
                            ".../namespaces/NAMESPACE/localqueues/NAME/pendingworkloads"));
  }
  PendingQuestion question{.version = std::string(parts[0]), .access = {}, .page = {}};
  const std::string ns(local ? parts[2] : ""), name(local ? parts[4] : parts[2]);
  if (local && !is_dns1123_label(ns).empty()) return bad_question("no namespace can be named \"" + ns + "\"");
  if (!is_dns1123_subdomain(name).empty()) return bad_question("no queue can be named \"" + name + "\"");
  const auto values = parse_query(query, {"limit", "offset"}, unknown);
  if (!values) return bad_question(values.error().message);
  const auto limit = number_of(*values, "limit", explain::PendingPage::kDefaultLimit),
             offset = number_of(*values, "offset", 0);
  if (!limit || !offset) return bad_question((limit ? offset : limit).error().message);
  question.access = {"get", local ? &kVisibleLocalQueues : &kVisibleClusterQueues, ns, name, "pendingworkloads"};
  question.page = {*limit, *offset};
  return question;
}

HttpResponse answer_pending(const PendingQuestion& question, const explain::QueueSnapshot* snapshot) {
  if (snapshot == nullptr) return not_synced();
  const ListAccess& queue = question.access;
  Result<std::string> summary =
      queue.type->namespaced
          ? explain::pending_of_local_queue(*snapshot, question.version, queue.ns, queue.name, question.page)
          : explain::pending_of_cluster_queue(*snapshot, question.version, queue.name, question.page);
  if (!summary) return refuse(404, "NotFound", summary.error().message);
  return {200, "application/json", std::move(*summary)};
}

}  // namespace muster::server
