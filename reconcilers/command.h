// What reconcilers ask for: writes to the API server, and a question to it, as values.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/logged_decision.h"
#include "api/measurement.h"
#include "api/meta/object_event.h"
#include "api/meta/time.h"
#include "kinds/typed_object.h"
#include "state/write_pauses.h"

namespace muster::reconcilers {

enum class Verb {
  kCreate,
  kPatch,        // JSON merge patch (RFC 7396) of the object without its status
  kPatchStatus,  // the same, of its status
  kDelete,
  kFindPods,  // no write but a question, whether pods are left of a job (reconcilers/pod_search.h)
};
enum class Propagation { kBackground, kForeground };

// One request. Every write is safe to repeat and to come late: creates carry their name,
// patches the metadata.resourceVersion that they were made for, deletes a uid.
struct Write {
  Verb verb;
  ObjectKey target;
  nlohmann::json body{};  // the object, or the patch; of kDelete null, or with_version() of nothing
  std::string uid{};      // kDelete: only this very object
  Propagation propagation = Propagation::kBackground;
  // Recorded after the write has succeeded, so that no event reports a failed write.
  std::vector<ObjectEvent> events{};
  // Counted then, for the same reason.
  std::vector<Measurement> measurements{};
  // Logged then.
  std::vector<LoggedDecision> decisions{};
  // Recorded instead when the API server refuses the write; the server's message ends the note.
  std::optional<ObjectEvent> refusal{};
  // kCreate: after such a refusal only this maker's writes wait for their next attempt; without a maker all of its key
  // waits, as after any failure. kDelete: another controller can make the object again, so the maker pauses between
  // such deletes. See state/write_pauses.h.
  std::optional<state::Maker> maker{};
  // It only says why something waits: nothing depends on it, and others go first (engine/giving_way.h).
  bool gives_way = false;
  // It evicts a Workload, or deactivates it, because its pods were late: where it is sent, the message gets their
  // reason (reconcilers/workload/late_pods_note.h).
  bool for_late_pods = false;
  // The key is not reconciled for this time after the write: for frequent changes that can be late, such as the counts
  // of a queue.
  Duration rest{};
};

// The merge patch with the version of the object that it was made for, where there is one: it is valid only for that
// version; after a conflict the key is reconciled again.
nlohmann::json with_version(const ObjectMeta& meta, nlohmann::json patch);

// How the API server answered a Write.
enum class WriteOutcome {
  kDone,           // of kFindPods: there is such a pod
  kConflict,       // the object has changed since
  kNotFound,       // it, or its namespace, is gone; of kFindPods: no such pod is left
  kAlreadyExists,  // kCreate: another object has that name
  kRefused,        // invalid or forbidden: the same write will be refused again
  kFailed,         // no answer, or the server's trouble
};

// One word for each, in recordings and logs: "patchStatus", "notFound". Recordings are read back, so a word never
// changes.
std::string_view word_of(Verb verb);
std::string_view word_of(WriteOutcome outcome);
// nullopt: no such word.
std::optional<Verb> find_verb(std::string_view word);
std::optional<WriteOutcome> find_outcome(std::string_view word);

// The plan of one reconciler. The writes are independent of each other: a write that must follow another one is planned
// by the next reconciliation.
struct Plan {
  std::vector<Write> writes{};
  // Events without a write.
  std::vector<ObjectEvent> events{};
  // When to ask again although nothing has happened.
  std::optional<TimePoint> again_at{};

  void wake_at(TimePoint time) { again_at = again_at ? std::min(*again_at, time) : time; }
};

}  // namespace muster::reconcilers
