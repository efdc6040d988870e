#include "engine/loop/write_answer.h"

#include <utility>

#include "api/codec/json.h"
#include "engine/loop/kind_feed.h"
#include "engine/loop/loop_observer.h"

namespace muster::engine {

using nlohmann::json;

ReadAnswer answer_of_done(const Command& command, const json& body, const LoopObserver* observer) {
  ReadAnswer answer{.finished = {.id = command.id, .outcome = reconcilers::WriteOutcome::kDone}};
  const ResourceType& type = *command.write.target.type;
  const std::string_view kind = string_at(body, {"kind"});
  if (kind == "PartialObjectMetadata") {
    answer.finished.version = read_meta(body).resource_version;
  } else if (kind == type.kind) {
    ReadObject read = read_watched(type, false, body);
    if (!read) {
      answer.breakage = read.error();
      return answer;
    }
    answer.finished.object = *std::move(read);
    if (observer != nullptr) answer.finished.texts = observer->texts_of(type, body);
  }
  return answer;
}

WriteFinished answer_of_failed(const Command& command, reconcilers::WriteOutcome outcome, bool internal_error,
                               std::string sentence) {
  const bool was_read = outcome == reconcilers::WriteOutcome::kRefused || internal_error;
  return {.id = command.id, .outcome = outcome, .why = was_read ? std::move(sentence) : ""};
}

}  // namespace muster::engine
