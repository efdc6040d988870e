#include "runtime/pod_lists.h"

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/codec/json.h"

namespace muster::runtime {
namespace {

using nlohmann::json;

const kube::Resource kPodList{"", "v1", "pods", true, "Pod"};
const kube::Resource kEventList{"", "v1", "events", true, "Event"};

struct PageRead {
  bool cut = false;
  std::string refused{};
  bool forbidden = false;
};

PageRead read_pages(kube::KubeApi& api, const kube::Resource& resource, const std::string& ns,
                    const kube::Query& selector, const PodListBounds& bounds, const std::stop_token& stop,
                    const std::function<void(const json&)>& take) {
  std::string next;
  for (int page = 0; page < bounds.pages; ++page) {
    kube::KubeRequest request;
    request.path = kube::collection_path(resource, ns);
    request.query = selector;
    request.query.emplace_back("limit", std::to_string(bounds.page));
    if (!next.empty()) request.query.emplace_back("continue", next);
    request.timeout = bounds.timeout;
    request.not_after = bounds.not_after;
    request.once = true;
    request.max_answer_bytes = bounds.page_bytes;
    const auto answer = api.send(request, stop);
    if (!answer && page > 0) return {.cut = true};
    if (!answer) return {false, answer.error().message, answer.error().forbidden()};
    for (const json& item : array_at(*answer, {"items"})) take(item);
    next = string_at(*answer, {"metadata", "continue"});
    if (next.empty()) return {};
  }
  return {.cut = true};
}

// How many pods there are is not known where the list is cut.
PodQuestion question_of(PodQuestion question, const SeenPods& seen) {
  if (seen.cut) question.wanted = -1;
  return question;
}

}  // namespace

SeenPods see_pods(kube::KubeApi& api, const std::string& ns, const std::string& pods, const PodQuestion& question,
                  const PodListBounds& bounds, std::stop_token stop) {
  SeenPods seen;
  PageRead read = read_pages(api, kPodList, ns, {{"labelSelector", pods}}, bounds, stop,
                             [&](const json& item) { seen.pods.push_back(see_pod(item)); });
  seen.cut = read.cut;
  seen.pods_refused = std::move(read.refused);
  seen.pods_forbidden = read.forbidden;
  // What is missing cannot be counted then.
  if (!seen.pods_refused.empty() || !events_matter(question_of(question, seen), seen.pods)) return seen;
  read = read_pages(api, kEventList, ns, {{"fieldSelector", "type=Warning"}}, bounds, stop,
                    [&](const json& item) { seen.events.push_back(see_event(item)); });
  seen.events_refused = std::move(read.refused);
  seen.events_forbidden = read.forbidden;
  return seen;
}

std::optional<PodReason> why_pods_are_late(PodQuestion question, const SeenPods& seen) {
  return muster::why_pods_are_late(question_of(std::move(question), seen), seen.pods, seen.events);
}

}  // namespace muster::runtime
