// How the API server's answer to a write becomes an event of the engine: one way for the real API server
// (runtime/cluster.h) and for the simulated one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "engine/events.h"

namespace muster::engine {

class LoopObserver;

struct ReadAnswer {
  WriteFinished finished;
  // The object of the answer cannot be read (a bug): the write is done all the same.
  std::optional<Breakage> breakage{};
};

// The write was done. `body`: the object as it is now; its metadata alone (PartialObjectMetadata), of which the
// version counts; a Status, or null, where a deleted object is gone at once.
// `observer`: as of a KindFeed.
ReadAnswer answer_of_done(const Command& command, const nlohmann::json& body, const LoopObserver* observer = nullptr);

// The write was not done. `sentence`: the API server's, or what happened on the way to it. The engine hears it
// where the API server has read the request: kRefused, and `internal_error` (HTTP 500), which is how a failure of a
// webhook or a quota is reported. Trouble on the way concerns the operator and not the owner of an object.
WriteFinished answer_of_failed(const Command& command, reconcilers::WriteOutcome outcome, bool internal_error,
                               std::string sentence);

}  // namespace muster::engine
