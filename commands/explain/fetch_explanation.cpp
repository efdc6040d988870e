#include "commands/explain/fetch_explanation.h"

#include <string>
#include <utility>

#include "api/meta/owner_reference.h"
#include "commands/explain/explain_local.h"
#include "commands/explain/explain_unqueued.h"
#include "commands/explain/late_job.h"
#include "commands/kubectl/workload_names.h"
#include "jobs/naming/named_kind.h"
#include "server/explain_route.h"

namespace muster::commands {
namespace {

using Known = jobs::NamedKind::Known;

Result<ExplainReply> look_here(MusterReader& reader, const ObjectKey& key) {
  auto settings = reader.settings();
  if (!settings) return fail(settings.error().message);
  return explain_locally(reader.api(), key, *settings, system_clock());
}

Result<ExplainReply, NoAnswer> ask_muster(MusterReader& reader, const ObjectKey& key) {
  auto answer = reader.ask(server::explain_path(key), {}, key.ns);
  if (!answer) return fail_with(answer.error());
  auto explained = read_explained(*answer);
  if (!explained) return fail_with(NoAnswer{explained.error().message, true});
  return std::move(*explained);
}

Result<ExplainReply> ask(MusterReader& reader, const ObjectKey& key, bool local) {
  bool answered = false;
  const auto asked = [&] {
    auto reply = ask_muster(reader, key);
    answered = reply.ok();
    return reply;
  };
  auto reply = ask_or_look_here<ExplainReply>(local, asked, [&] { return look_here(reader, key); });
  if (reply && !answered) reply->alarm = reader.alarm();
  if (reply && reply->found) add_late_pods(reader.api(), key, *reply);
  return reply;
}

}  // namespace

Result<ExplainReply> fetch_explanation(MusterReader& reader, const ObjectKey& key, bool local) {
  const auto kind = jobs::find_named_kind(*key.type);
  if (kind && kind->known == Known::kNone) {
    ExplainReply read = ask_about_unqueued(reader.api(), *kind, key.ns, key.name);
    read.alarm = reader.alarm();
    return read;
  }
  auto answer = ask(reader, key, local);
  if (!answer) return answer;
  // muster knows no object of a kind that is in no queue here.
  const bool is_queued = answer->reason != "KindNotQueued";
  if (answer->found && is_queued) return answer;
  if (kind && (!is_queued || kind->known == Known::kOnlyInQueue)) {
    ExplainReply read = ask_about_unqueued(reader.api(), *kind, key.ns, key.name);
    read.timeline = std::move(answer->timeline);
    read.alarm = std::move(answer->alarm);
    if (is_queued || !read.found || read.says(ExplainReason::kPartOfAnother)) return read;
    return answer;
  }
  if (key.type == &kWorkloads && answer->timeline.empty()) {
    // Users know the name of the job.
    const auto owned = find_workload_name(reader.api(), key.ns, key.name, nullptr);
    if (!owned) return answer;
    auto other = ask(reader, {key.type, key.ns, *owned}, local);
    if (other) other->notes.push_back("There is no Workload " + key.name + "; this one is of the job with that name.");
    return other;
  }
  return answer;
}

std::vector<ObjectKey> find_kinds_of(kube::KubeApi& api, const std::string& ns, const std::string& name) {
  std::vector<ObjectKey> parts;
  for (const jobs::NamedKind& kind : jobs::named_kinds()) {
    const auto object = api.get(kube::resource_of(*kind.type), ns, name);
    if (!object) continue;
    const ObjectKey key{kind.type, ns, name};
    const auto owner = controller_of(*object);
    if (!owner || !jobs::find_named_kind(owner->kind.text())) return {key};
    parts.push_back(key);
  }
  if (!parts.empty()) return {parts.front()};
  return {{&kJobs, ns, name}, {&kJobSets, ns, name}, {&kWorkloads, ns, name}};
}

}  // namespace muster::commands
