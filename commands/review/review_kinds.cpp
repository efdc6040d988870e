#include "commands/review/review_kinds.h"

#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/owner_reference.h"
#include "commands/terminal/text_table.h"
#include "jobs/queued_job.h"
#include "state/pod_requests.h"

namespace muster::commands {
namespace {

using nlohmann::json;

std::string text_of(const Requests& requests) {
  std::string text;
  for (const auto& [resource, amount] : requests)
    text += (text.empty() ? "" : ", ") + resource + " " + to_quantity(resource, amount).text();
  return text.empty() ? "nothing" : text;
}

std::string state_of(const jobs::QueuedJob& job) {
  std::string state = job.suspended() ? "suspended" : "not suspended";
  state += job.active() ? ", its pods are active" : ", no pod is active";
  state += job.pods_ready() ? ", all are ready" : ", not all are ready";
  const auto end = job.end();
  if (!end) return state + ", not ended";
  return state + (end->success ? ", succeeded" : ", failed") + (end->message.empty() ? "" : ": " + end->message);
}

std::string pod_sets_of(const jobs::QueuedJob& job, const QueueSettings& settings) {
  std::vector<TableRow> rows = {{"POD SET", "PODS", "EACH REQUESTS", "IN ALL"}};
  for (const PodSet& pod_set : job.pod_set_shapes(settings.rules)) {
    const Requests each =
        state::quota_requests(pod_requests(adjusted_resources(*pod_set.pod_template.spec, {})), settings);
    rows.push_back(
        {pod_set.name, std::to_string(pod_set.count), text_of(each), text_of(multiply(each, pod_set.count))});
  }
  return text_table(rows, "  ");
}

}  // namespace

std::string what_is_seen(const json& object, const ConsultedLookup& find, const QueueSettings& settings) {
  const jobs::JobKind* kind =
      jobs::find_job_kind(group_of(string_at(object, {"apiVersion"})), string_at(object, {"kind"}));
  if (kind == nullptr) return {};
  const TypedObject read = read_object(kind->type, object);
  const jobs::QueuedJob job(*kind, read, find);
  std::string text = std::string(kind->type.kind) + "/" + job.meta().name + ", of integration " +
                     std::string(kind->framework) + ": " + state_of(job) + "\n";
  const std::string queue(job.queue_name());
  text += "  queue: " + (queue.empty() ? "none" : queue) + "\n";
  if (!kind->is_managed_by(job.managed_by()))
    text += "  managed by " + std::string(job.managed_by()) + ", so muster leaves it alone\n";
  if (job.left_alone()) text += "  left alone, as its kind's description says\n";
  const std::string why = job.readable() ? "" : job.why_unreadable();
  if (!job.readable())
    return text + "  it can be in no queue: " + (why.empty() ? "its pods are not known" : why) + "\n";
  return text + pod_sets_of(job, settings);
}

}  // namespace muster::commands
