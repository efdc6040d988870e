#include "commands/explain/fetch_explanation.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "commands/explain/explain_local.h"
#include "server/explain_route.h"

namespace muster {
namespace {

Result<Explained> look_here(MusterReader& reader, const ObjectKey& key) {
  auto settings = reader.settings();
  if (!settings) return fail(settings.error().message);
  return explain_locally(reader.api(), key, *settings, system_clock());
}

Result<Explained, NoAnswer> ask_muster(MusterReader& reader, const ObjectKey& key) {
  auto answer = reader.ask(explain_path(key), {}, key.ns);
  if (!answer) return fail_with(answer.error());
  auto explained = read_explained(*answer);
  if (!explained) return fail_with(NoAnswer{explained.error().message, true});
  return std::move(*explained);
}

}  // namespace

Result<Explained> fetch_explanation(MusterReader& reader, const ObjectKey& key, bool local) {
  std::string why_not;
  if (!local) {
    auto answer = ask_muster(reader, key);
    if (answer) return std::move(*answer);
    if (!answer.error().look_here) return fail(answer.error().message);
    why_not = answer.error().message;
  }
  auto answer = look_here(reader, key);
  if (answer && !why_not.empty()) answer->notes.push_back("muster did not answer: " + why_not);
  return answer;
}

}  // namespace muster
