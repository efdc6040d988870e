#include "commands/explain/fetch_explanation.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "commands/explain/explain_local.h"
#include "commands/explain/late_job.h"
#include "server/explain_route.h"

namespace muster::commands {
namespace {

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

}  // namespace

Result<ExplainReply> fetch_explanation(MusterReader& reader, const ObjectKey& key, bool local) {
  bool answered = false;
  const auto ask = [&] {
    auto reply = ask_muster(reader, key);
    answered = reply.ok();
    return reply;
  };
  auto reply = ask_or_look_here<ExplainReply>(local, ask, [&] { return look_here(reader, key); });
  if (reply && !answered) reply->alarm = reader.alarm();
  if (reply && reply->found) add_late_pods(reader.api(), key, *reply);
  return reply;
}

}  // namespace muster::commands
