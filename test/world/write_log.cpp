#include "test/world/write_log.h"

#include <chrono>

#include "api/codec/json.h"

namespace muster::world {
namespace {

constexpr size_t kKept = 40;
constexpr size_t kMostOfABody = 300;

}  // namespace

void WriteLog::add(Duration elapsed, int replica, const reconcilers::Write& write, const Answer& answer) {
  last_.push_back({elapsed, "replica " + std::to_string(replica) + ": " + std::string(word_of(write.verb)) + " " +
                                to_text(write.target) + " " + to_text(write.body).substr(0, kMostOfABody) + " -> " +
                                std::string(word_of(answer.outcome)) +
                                (answer.done() ? "" : " (" + answer.message + ")")});
  if (last_.size() > kKept) last_.pop_front();
  WriteCounts& counts = counts_[write.target.type->id()];
  if (answer.outcome == reconcilers::WriteOutcome::kConflict) ++counts.conflicts;
  switch (write.verb) {
    case reconcilers::Verb::kCreate:
      ++counts.create;
      break;
    case reconcilers::Verb::kPatch:
      ++counts.patch;
      break;
    case reconcilers::Verb::kPatchStatus:
      ++counts.patch_status;
      break;
    case reconcilers::Verb::kDelete:
      ++counts.remove;
      break;
    case reconcilers::Verb::kFindPods:
      break;
  }
}

WriteCounts WriteLog::counts(const ResourceType& type) const {
  const auto found = counts_.find(type.id());
  return found == counts_.end() ? WriteCounts{} : found->second;
}

WriteCounts WriteLog::counts() const {
  WriteCounts sum;
  for (const auto& [kind, counts] : counts_) {
    sum.create += counts.create;
    sum.patch += counts.patch;
    sum.patch_status += counts.patch_status;
    sum.remove += counts.remove;
  }
  return sum;
}

std::string WriteLog::text() const {
  std::string text;
  for (const Line& line : last_)
    text += std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(line.at).count()) + " ms " +
            line.text + "\n";
  return text;
}

}  // namespace muster::world
