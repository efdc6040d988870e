#include "server/lists_route.h"

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "api/meta/names.h"
#include "explain/lists/holder_list.h"
#include "explain/lists/queue_list.h"
#include "explain/lists/workload_list.h"
#include "server/list_cache.h"
#include "server/reader_answers.h"
#include "server/request_query.h"
#include "server/visibility_answer.h"

namespace muster::server {
namespace {

using nlohmann::json;
using Names = std::set<std::string_view>;

HttpResponse bad_request(const std::string& why) {
  return refuse(400, "BadRequest", why);
}

// Filters have many values, and those of one reader could fill a cache: they have a separate cache.
struct ListCaches {
  ListCache plain, filtered;
};

// One request: the user and the list that the user requests.
class Question {
 public:
  Question(const Lister& lister, ListCaches& caches, const HttpRequest& request)
      : lister_(lister), caches_(caches), request_(request) {}

  HttpResponse answer_list();
  HttpResponse answer_visibility() const;

 private:
  std::optional<HttpResponse> read(const Names& parameters);
  std::optional<HttpResponse> authorize(const ListAccess& access) const;
  template <class Make>
  HttpResponse from_snapshot(const Make& make) const;
  HttpResponse workloads();
  HttpResponse page_of(explain::WorkloadFilter filter) const;
  std::optional<HttpResponse> hide_kinds(const explain::QueueSnapshot& snapshot, explain::WorkloadFilter& filter) const;
  HttpResponse local_queues();
  HttpResponse cluster_scoped(const ResourceType& type, json (*make)(const explain::QueueSnapshot&));
  HttpResponse usage();
  HttpResponse holders();
  std::string value(std::string_view name) const { return value_of(values_, name); }

  const Lister& lister_;
  ListCaches& caches_;
  const HttpRequest& request_;
  QueryValues values_;
};

// Names in a query are checked with the API server's rules: muster neither looks up other names nor sends them
// to the API server.
std::optional<HttpResponse> Question::read(const Names& parameters) {
  auto values = parse_query(request_.query, parameters);
  if (!values) return bad_request(values.error().message);
  values_ = std::move(*values);
  for (const std::string_view name : {"namespace", "queue", "clusterQueue"}) {
    const std::string given = value(name);
    if (given.empty()) continue;
    const auto wrong = name == "namespace" ? is_dns1123_label(given) : is_dns1123_subdomain(given);
    if (!wrong.empty()) return bad_request(std::string(name) + ": " + join(wrong, "; "));
  }
  return std::nullopt;
}

std::optional<HttpResponse> Question::authorize(const ListAccess& access) const {
  return refusal_of(lister_.authorize(token_of(request_), access), sentence_of(access));
}

// `make` returns the list, or an error that names the missing object.
template <class Make>
HttpResponse Question::from_snapshot(const Make& make) const {
  const auto snapshot = lister_.snapshot();
  if (!snapshot) return not_synced();
  Result<json> list = make(*snapshot);
  if (!list) return refuse(404, "NotFound", list.error().message);
  return answer_json(200, *list);
}

HttpResponse Question::workloads() {
  Names parameters = {"namespace", "queue", "clusterQueue", "limit", "offset"};
  parameters.insert(explain::kFilterParameters.begin(), explain::kFilterParameters.end());
  if (auto wrong = read(parameters)) return *wrong;
  auto wanted = explain::read_workload_filter(values_);
  if (!wanted) return bad_request(wanted.error().message);
  explain::WorkloadFilter& filter = *wanted;
  filter.ns = value("namespace");
  filter.local_queue = value("queue");
  filter.cluster_queue = value("clusterQueue");
  const auto limit = number_of(values_, "limit", filter.limit), offset = number_of(values_, "offset", 0);
  if (!limit || !offset) return bad_request((limit ? offset : limit).error().message);
  if (*limit > explain::WorkloadFilter::kMostLimit)
    return bad_request("limit is at most " + std::to_string(explain::WorkloadFilter::kMostLimit) +
                       "; go on with offset");
  if (!filter.local_queue.empty() && filter.ns.empty()) return bad_request("queue needs a namespace");
  if (!filter.local_queue.empty() && !filter.cluster_queue.empty())
    return bad_request("name queue or clusterQueue, not both");
  filter.limit = *limit;
  filter.offset = *offset;
  if (auto refused = authorize({"list", &kWorkloads, filter.ns})) return *refused;
  return page_of(std::move(filter));
}

// Asked of every kind of which there are jobs: which ones belong to the Workloads of this list says only the list.
std::optional<HttpResponse> Question::hide_kinds(const explain::QueueSnapshot& snapshot,
                                                 explain::WorkloadFilter& filter) const {
  for (const auto& [kind, type] : snapshot.job_types()) {
    const AuthDecision decision = lister_.authorize(token_of(request_), {"list", type, filter.ns});
    if (decision == AuthDecision::kUnavailable || decision == AuthDecision::kUnproven) return refusal_of(decision, "");
    if (decision != AuthDecision::kAllowed) filter.hidden_kinds.insert(kind);
  }
  return std::nullopt;
}

HttpResponse Question::page_of(explain::WorkloadFilter filter) const {
  const auto starts = lister_.starts ? lister_.starts() : nullptr;
  const auto snapshot = lister_.snapshot();
  if (!snapshot) return not_synced();
  if (!filter.submitter.empty() && !snapshot->records_submitters())
    return bad_request(std::string(explain::kNoSubmitters));
  if (auto refused = hide_kinds(*snapshot, filter)) return *refused;
  std::string question = std::to_string(filter.limit) + "/" + std::to_string(filter.offset);
  bool filtered = false;
  for (const auto& [name, given] : values_) {
    if (name == "limit" || name == "offset" || given.empty()) continue;
    question.append("/").append(name).append("=").append(std::to_string(given.size())).append(":").append(given);
    filtered = filtered || explain::is_filter_parameter(name);
  }
  for (const KindId& hidden : filter.hidden_kinds)
    question.append("/").append(hidden.plural).append(".").append(hidden.group);
  ListCache& cache = filtered ? caches_.filtered : caches_.plain;
  if (const auto kept = cache.find(snapshot, starts, question)) return {200, "application/json", *kept};
  const auto list = explain::workload_list(*snapshot, filter, starts.get());
  if (!list && list.error().forbidden) return refuse(403, "Forbidden", "forbidden: " + list.error().message);
  if (!list) return refuse(404, "NotFound", list.error().message);
  HttpResponse answer = answer_json(200, *list);
  cache.keep(snapshot, starts, question, answer.body);
  return answer;
}

HttpResponse Question::local_queues() {
  if (auto wrong = read({"namespace"})) return *wrong;
  const std::string ns = value("namespace");
  if (auto refused = authorize({"list", &kLocalQueues, ns})) return *refused;
  return from_snapshot(
      [&](const explain::QueueSnapshot& snapshot) { return Result<json>(explain::local_queue_list(snapshot, ns)); });
}

HttpResponse Question::cluster_scoped(const ResourceType& type, json (*make)(const explain::QueueSnapshot&)) {
  if (auto wrong = read({})) return *wrong;
  if (auto refused = authorize({"list", &type})) return *refused;
  return from_snapshot([&](const explain::QueueSnapshot& snapshot) { return Result<json>(make(snapshot)); });
}

HttpResponse Question::usage() {
  if (auto wrong = read({"clusterQueue"})) return *wrong;
  const std::string queue = value("clusterQueue");
  if (queue.empty()) return bad_request("name the ClusterQueue: clusterQueue=NAME");
  if (auto refused = authorize({"get", &kClusterQueues, "", queue})) return *refused;
  const std::optional<Result<json>> usage = lister_.usage(queue);
  if (!usage) return not_synced();
  return usage->ok() ? answer_json(200, **usage) : refuse(404, "NotFound", usage->error().message);
}

HttpResponse Question::holders() {
  if (auto wrong = read({"resource", "namespace", "queue", "clusterQueue"})) return *wrong;
  const explain::HolderQuestion question{value("resource"), value("clusterQueue"), value("namespace"), value("queue")};
  if (question.resource.empty()) return bad_request("name the resource: resource=cpu");
  if (question.local_queue.empty() == question.cluster_queue.empty())
    return bad_request("name queue and namespace, or clusterQueue");
  if (!question.local_queue.empty() && question.ns.empty()) return bad_request("queue needs a namespace");
  const ListAccess access = question.local_queue.empty()
                                ? ListAccess{"get", &kClusterQueues, "", question.cluster_queue}
                                : ListAccess{"list", &kWorkloads, question.ns};
  if (auto refused = authorize(access)) return *refused;
  std::optional<bool> everywhere;
  const auto may_know = [&](const std::string& ns) {
    const auto may = [&](const std::string& where) {
      return lister_.authorize(token_of(request_), {"list", &kWorkloads, where}) == AuthDecision::kAllowed;
    };
    if (!everywhere) everywhere = may("");
    return *everywhere || may(ns);
  };
  return from_snapshot(
      [&](const explain::QueueSnapshot& snapshot) { return explain::holder_list(snapshot, question, may_know); });
}

HttpResponse Question::answer_list() {
  const std::string_view list = request_.path.substr(kListsPath.size());
  if (list == "workloads") return workloads();
  if (list == "localqueues") return local_queues();
  if (list == "clusterqueues") return cluster_scoped(kClusterQueues, explain::cluster_queue_list);
  if (list == "cohorts") return cluster_scoped(kCohorts, explain::cohort_list);
  if (list == "usage") return usage();
  if (list == "holders") return holders();
  return refuse(404, "NotFound",
                "there is no such list; there are workloads, localqueues, clusterqueues, cohorts, usage, holders");
}

HttpResponse Question::answer_visibility() const {
  const auto question = read_pending_question(request_.path, request_.query, UnknownParameters::kRefused);
  if (!question) return question.error();
  if (auto refused = authorize(question->access)) return *refused;
  return answer_pending(*question, lister_.snapshot().get());
}

Route route(std::string_view path, const std::shared_ptr<const std::optional<Lister>>& lister,
            HttpResponse (*answer)(Question)) {
  return {
      .method = HttpMethod::kGet,
      .path = std::string(path),
      .handler = [lister, answer, caches = std::make_shared<ListCaches>()](const HttpRequest& request) -> HttpResponse {
        if (!*lister)
          return refuse(503, "ServiceUnavailable", "muster runs --standalone: it knows no cluster, and so no queues");
        if (token_of(request).empty()) return unauthenticated(false);
        return answer(Question(**lister, *caches, request));
      },
      .prefix = true,
      .memory = [](size_t) { return kListMemory; },
      .large_answers = true};
}

}  // namespace

Routes list_routes(std::optional<Lister> lister, bool visibility) {
  const auto shared = std::make_shared<const std::optional<Lister>>(std::move(lister));
  Routes routes = {route(kListsPath, shared, [](Question question) { return question.answer_list(); })};
  if (visibility)
    routes.push_back(route(kVisibilityPath, shared, [](Question question) { return question.answer_visibility(); }));
  return routes;
}

}  // namespace muster::server
