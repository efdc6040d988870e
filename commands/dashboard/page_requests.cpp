#include "commands/dashboard/page_requests.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "api/codec/json.h"
#include "api/explained.h"
#include "api/meta/names.h"
#include "commands/dashboard/embedded.h"
#include "explain/lists/workload_list.h"
#include "jobs/naming/named_kind.h"
#include "runtime/version.h"
#include "server/page_files.h"
#include "server/request_query.h"

namespace muster::commands {
namespace {

using nlohmann::json;

PageAnswer refuse(int status, const std::string& message) {
  return {status, "application/json", to_text(json{{"message", message}})};
}

PageAnswer answer_with(const json& body) {
  return {200, "application/json", to_text(body)};
}

// Lists that can be requested by name, and their allowed parameters.
struct PageList {
  ListKind kind;
  std::set<std::string_view> parameters;
};

std::set<std::string_view> with_filters(std::set<std::string_view> parameters) {
  parameters.insert(explain::kFilterParameters.begin(), explain::kFilterParameters.end());
  return parameters;
}

const PageList* find_list(std::string_view name) {
  static const std::map<std::string_view, PageList> kLists = {
      {"workloads", {ListKind::kWorkloadList, with_filters({"namespace", "queue", "clusterQueue", "limit", "offset"})}},
      {"localqueues", {ListKind::kLocalQueueList, {"namespace"}}},
      {"clusterqueues", {ListKind::kClusterQueueList, {}}},
      {"cohorts", {ListKind::kCohortList, {}}},
      {"usage", {ListKind::kUsage, {"clusterQueue"}}},
      {"holders", {ListKind::kHolderList, {"resource", "namespace", "queue", "clusterQueue"}}},
  };
  const auto found = kLists.find(name);
  return found == kLists.end() ? nullptr : &found->second;
}

PageAnswer answer_list(const PageList& list, const std::string& query, PageSource& source) {
  const auto values = server::parse_query(query, list.parameters);
  if (!values) return refuse(400, values.error().message);
  const auto limit = server::number_of(*values, "limit", explain::WorkloadFilter::kDefaultLimit);
  const auto offset = server::number_of(*values, "offset", 0);
  if (!limit || !offset) return refuse(400, (limit ? offset : limit).error().message);
  ListQuestion question{.kind = list.kind,
                        .ns = server::value_of(*values, "namespace"),
                        .local_queue = server::value_of(*values, "queue"),
                        .cluster_queue = server::value_of(*values, "clusterQueue"),
                        .resource = server::value_of(*values, "resource")};
  if (list.kind == ListKind::kWorkloadList) {
    question.limit = std::clamp<int64_t>(*limit, 1, explain::WorkloadFilter::kMostLimit);
    question.offset = *offset;
    if (auto read = explain::read_workload_filter(*values); !read) return refuse(400, read.error().message);
    for (const auto& [name, value] : *values) {
      if (explain::is_filter_parameter(name) && !value.empty()) question.filter.emplace(name, value);
    }
  }
  auto fetched = source.list(question);
  if (!fetched) return refuse(502, fetched.error().message);
  fetched->list["metadata"]["notes"] = fetched->notes;
  return answer_with(fetched->list);
}

PageAnswer answer_explanation(const std::string& query, PageSource& source) {
  const auto values = server::parse_query(query, {"namespace", "kind", "name"});
  if (!values) return refuse(400, values.error().message);
  const std::string kind = server::value_of(*values, "kind"), ns = server::value_of(*values, "namespace"),
                    name = server::value_of(*values, "name");
  const auto named = jobs::find_named_kind(kind);
  if (!named) return refuse(400, jobs::no_such_kind(kind));
  if (!is_dns1123_label(ns).empty()) return refuse(400, "no namespace can be named \"" + ns + "\"");
  if (!is_dns1123_subdomain(name).empty()) return refuse(400, "no object can be named \"" + name + "\"");
  const auto explained = source.explain({named->type, ns, name});
  return explained ? answer_with(*explained) : refuse(502, explained.error().message);
}

bool is_own_host(const std::string& host, uint16_t port) {
  const std::string number = ":" + std::to_string(port);
  return host == "127.0.0.1" + number || host == "localhost" + number;
}

// A comparison that takes the same time for a token that is nearly correct.
bool is_token(std::string_view given, std::string_view token) {
  if (given.size() != token.size()) return false;
  unsigned differs = 0;
  for (size_t i = 0; i < token.size(); ++i) differs |= static_cast<unsigned char>(given[i] ^ token[i]);
  return differs == 0;
}

}  // namespace

PageAnswer answer_page_request(const PageRequest& request, const PageSettings& settings, PageSource& source) {
  if (!is_own_host(request.host, settings.port)) return refuse(403, "the Host header does not name this dashboard");
  if (!request.origin.empty() && request.origin != "http://" + request.host)
    return refuse(403, "another origin may not ask this dashboard");
  if (request.method != "GET") return refuse(405, "only GET is answered");
  const std::string_view path = request.path;
  const size_t end = path.find('/', 1);
  // Without its last slash the page would look for its files in the wrong folder.
  if (path.size() < 2 || end == std::string_view::npos || !is_token(path.substr(1, end - 1), settings.token))
    return refuse(404, "open the address that muster dashboard has printed");
  const std::string_view rest = path.substr(end + 1);
  if (const auto file = server::find_page_file(dashboard_files(), rest))
    return {200, std::string(file->content_type), std::string(file->text)};
  if (rest == "api/context")
    return answer_with({{"namespace", settings.ns},
                        {"server", settings.server},
                        {"version", runtime::kVersion},
                        {"kinds", jobs::named_kinds_with_groups()}});
  if (rest == "api/explain") return answer_explanation(request.query, source);
  if (rest.starts_with("api/")) {
    if (const PageList* list = find_list(rest.substr(4))) return answer_list(*list, request.query, source);
  }
  return refuse(404, "there is no such page");
}

}  // namespace muster::commands
