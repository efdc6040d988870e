// The result of a write when its answer arrives.
#include <iterator>
#include <utility>

#include "engine/engine.h"

namespace muster::engine {
namespace {

// How long muster does not try a name again that belongs to an object of another owner.
constexpr Duration kNameConflictFor = std::chrono::seconds(30);

state::WritePauses::Answer answer_to_create(const WriteFinished& finished) {
  using Answer = state::WritePauses::Answer;
  if (finished.outcome == reconcilers::WriteOutcome::kDone ||
      finished.outcome == reconcilers::WriteOutcome::kAlreadyExists)
    return Answer::kDone;
  return finished.why.empty() ? Answer::kOther : Answer::kRefused;
}

}  // namespace

void Engine::finish(const WriteFinished& finished, Now now) {
  std::optional<WriteUnderWay> answered = under_way_.finish(finished.id);
  if (!answered) return;
  WriteUnderWay& write = *answered;
  if (write.gives_way) {
    const bool others = under_way_.size() >= giving_way_.under_way();  // giving_way_ still counts this write
    giving_way_.finished(now.monotonic - write.since, others, now.monotonic);
  }
  if (!write.request) return webhooks_.write_finished(write.target);
  if (write.maker && write.verb == reconcilers::Verb::kCreate)
    state_.writes().pauses().answered(*write.maker, answer_to_create(finished), now.monotonic);
  take_answer(write, finished, now);
  if (finished.outcome == reconcilers::WriteOutcome::kDone && write.rest > Duration::zero())
    work_queue_.hold_until(*write.request, now.monotonic + write.rest);
  if (finished.outcome == reconcilers::WriteOutcome::kDone && !shows(write.target, finished.version))
    return expectations_.add(write.target, finished.version, *write.request);
  work_queue_.write_finished(*write.request, result_of(write, finished), now.monotonic);
}

// Also if the object was deleted, and all written fields with it.
bool Engine::shows(const ObjectKey& target, uint64_t version) const {
  const TypedObject* known = state_.find(*target.type, target.ns, target.name);
  return known == nullptr || meta_of(*known).resource_version >= version;
}

// If a name is taken or an object was deleted, the engine acts on this answer at once, without a delay: one
// deleted pod must not delay the release of a gang. The watch does not repeat events that it has sent before
// the answer arrived.
WorkQueue::Result Engine::result_of(const WriteUnderWay& write, const WriteFinished& finished) const {
  if (only_it_waits(write, finished)) return WorkQueue::Result::kDone;
  switch (finished.outcome) {
    case reconcilers::WriteOutcome::kDone:
    case reconcilers::WriteOutcome::kAlreadyExists:
      return WorkQueue::Result::kDone;
    case reconcilers::WriteOutcome::kNotFound:
      return write.verb == reconcilers::Verb::kCreate ? WorkQueue::Result::kFailed : WorkQueue::Result::kDone;
    case reconcilers::WriteOutcome::kConflict: {
      const TypedObject* known = state_.find(*write.target.type, write.target.ns, write.target.name);
      const bool outdated = known != nullptr && meta_of(*known).resource_version == write.version;
      return outdated ? WorkQueue::Result::kOutdated : WorkQueue::Result::kFailed;
    }
    case reconcilers::WriteOutcome::kRefused:
    case reconcilers::WriteOutcome::kFailed:
      break;
  }
  return WorkQueue::Result::kFailed;
}

// Takes the write's events and measurements as well.
void Engine::take_answer(WriteUnderWay& write, const WriteFinished& finished, Now now) {
  const ObjectKey& target = write.target;
  if (write.verb == reconcilers::Verb::kFindPods) return note_search(write, finished, now);
  const bool done = finished.outcome == reconcilers::WriteOutcome::kDone;
  if (done) {
    std::move(write.events.begin(), write.events.end(), std::back_inserter(events_));
    for (Measurement& measurement : write.measurements) measure(std::move(measurement));
    std::move(write.decisions.begin(), write.decisions.end(), std::back_inserter(logged_decisions_));
    if (write.verb == reconcilers::Verb::kCreate) state_.writes().forget_rejection(*write.request, target);
    state_.writes().pod_searches().forget_none(*write.request);
  } else if (write.refusal && !finished.why.empty()) {
    take_refusal(write, finished);
  }
  if (done && finished.object) return put(*finished.object, false, now);
  if (finished.outcome == reconcilers::WriteOutcome::kRefused && write.verb == reconcilers::Verb::kPatchStatus)
    scheduler_feed_.driver().refuse(target, now);
  if (finished.outcome == reconcilers::WriteOutcome::kAlreadyExists) {
    if (state_.find(*target.type, target.ns, target.name) != nullptr) return;
    state_.writes().note_name_conflict(target, now.monotonic + kNameConflictFor);
    blocked_.put(*write.request, now.monotonic + kNameConflictFor);
  }
  const bool gone =
      finished.outcome == reconcilers::WriteOutcome::kNotFound && write.verb != reconcilers::Verb::kCreate;
  if (!gone && !(done && write.verb == reconcilers::Verb::kDelete)) return;
  const TypedObject* known = state_.find(*target.type, target.ns, target.name);
  if (known == nullptr || (!write.uid.empty() && meta_of(*known).uid != write.uid)) return;
  if (auto removed = state_.remove(target)) forget(*removed, now);
}

// Without an answer nothing is known, and the question is asked again as any write.
void Engine::note_search(const WriteUnderWay& search, const WriteFinished& finished, Now now) {
  const bool found = finished.outcome == reconcilers::WriteOutcome::kDone;
  if (found || finished.outcome == reconcilers::WriteOutcome::kNotFound)
    state_.writes().pod_searches().note(*search.request, search.target.name, found, now.monotonic);
}

bool Engine::only_it_waits(const WriteUnderWay& write, const WriteFinished& finished) {
  return write.maker && write.verb == reconcilers::Verb::kCreate && !finished.why.empty() &&
         finished.outcome != reconcilers::WriteOutcome::kDone;
}

// A refusal of a create by the API server, a quota of Kubernetes or a policy concerns the user. The write is
// tried again after a growing delay; the recorder makes one series of repeated events.
void Engine::take_refusal(WriteUnderWay& write, const WriteFinished& finished) {
  // If the owner was deleted, its rejection would never be read.
  const ObjectKey& owner = *write.request;
  if (state_.find(*owner.type, owner.ns, owner.name) != nullptr)
    state_.writes().note_rejection(owner, write.target, finished.why);
  ObjectEvent event = *std::move(write.refusal);
  event.note += finished.why;
  events_.push_back(std::move(event));
}

}  // namespace muster::engine
