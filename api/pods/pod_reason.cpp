#include "api/pods/pod_reason.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "api/codec/json.h"
#include "api/codec/utf8.h"
#include "api/pods/pod_phase.h"

namespace muster {
namespace {

using nlohmann::json;

constexpr size_t kMostToken = 64;
constexpr size_t kMostName = 253;
constexpr size_t kMostText = 400;  // the API server's sentence about a quota has 200

std::string token_at(const json& value, std::initializer_list<std::string_view> keys) {
  return readable_text(string_at(value, keys), kMostToken);
}

std::string text_at(const json& value, std::initializer_list<std::string_view> keys) {
  return readable_text(string_at(value, keys), kMostText);
}

Timestamp seen_time(const json& value, std::initializer_list<std::string_view> keys) {
  const json* found = find_path(value, keys);
  const auto time = found == nullptr ? Result<Timestamp>(Timestamp{}) : parse_time(*found);
  return time ? *time : Timestamp{};
}

void find_problem(PodProblem problem, std::string token, std::string text, SeenPod& pod, std::string container = "") {
  if (pod.problem && *pod.problem <= problem) return;
  pod.problem = problem;
  pod.token = std::move(token);
  pod.text = std::move(text);
  pod.container = std::move(container);
}

std::string end_of_container(const json& terminated) {
  const std::string reason = token_at(terminated, {"reason"});
  std::string text = "exit code " + std::to_string(int_at(terminated, {"exitCode"}).value_or(0));
  if (!reason.empty() && reason != "Error") text = reason + ", " + text;
  const std::string message = text_at(terminated, {"message"});
  return message.empty() ? text : text + ": " + message;
}

// What does not wait for the containers before it, or for its node alone.
void read_waiting(const json& status, const std::string& name, SeenPod& pod) {
  const json& waiting = object_at(status, {"state", "waiting"});
  const std::string reason = token_at(waiting, {"reason"});
  if (reason.empty() || reason == "PodInitializing" || reason == "ContainerCreating") return;
  std::string text = text_at(waiting, {"message"});
  const json& last = object_at(status, {"lastState", "terminated"});
  if (!last.empty()) {
    text = end_of_container(last);
    if (const auto restarts = int_at(status, {"restartCount"})) text += ", " + std::to_string(*restarts) + " restarts";
  }
  find_problem(PodProblem::kContainer, reason, std::move(text), pod, name);
}

std::string name_of_container(const json& status, bool init) {
  return (init ? "init container " : "container ") + readable_text(string_at(status, {"name"}), kMostToken);
}

void read_containers(const json& object, SeenPod& pod) {
  for (const json& status : array_at(object, {"status", "initContainerStatuses"})) {
    const std::string name = name_of_container(status, true);
    read_waiting(status, name, pod);
    // One that has started stays beside the containers (a sidecar).
    if (find_path(status, {"state", "running"}) != nullptr && !bool_at(status, {"started"}))
      find_problem(PodProblem::kInitializing, "Initializing", "", pod, name);
  }
  bool starts = array_at(object, {"status", "containerStatuses"}).empty();
  for (const json& status : array_at(object, {"status", "containerStatuses"})) {
    const std::string name = name_of_container(status, false);
    read_waiting(status, name, pod);
    if (find_path(status, {"state", "running"}) != nullptr && !bool_at(status, {"ready"}))
      find_problem(PodProblem::kNotReady, "NotReady", "", pod, name);
    starts = starts || find_path(status, {"state", "waiting"}) != nullptr;
  }
  if (!starts || string_at(object, {"spec", "nodeName"}).empty()) return;
  find_problem(PodProblem::kStarting, "ContainerCreating",
               "on Node " + readable_text(string_at(object, {"spec", "nodeName"}), kMostName), pod);
}

void read_placing(const json& object, SeenPod& pod) {
  if (!string_at(object, {"spec", "nodeName"}).empty()) return;
  for (const json& condition : array_at(object, {"status", "conditions"})) {
    if (string_at(condition, {"type"}) != "PodScheduled" || string_at(condition, {"status"}) == "True") continue;
    const std::string reason = token_at(condition, {"reason"});
    const bool gated = reason == "SchedulingGated";
    return find_problem(gated ? PodProblem::kGated : PodProblem::kUnschedulable,
                        reason.empty() ? "Unschedulable" : reason, text_at(condition, {"message"}), pod);
  }
  find_problem(PodProblem::kNotScheduled, "NotScheduled", "", pod);
}

void read_failure(const json& object, SeenPod& pod) {
  std::string reason = token_at(object, {"status", "reason"}), text = text_at(object, {"status", "message"});
  std::string container;
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    for (const json& status : array_at(object, {"status", list})) {
      const json& terminated = object_at(status, {"state", "terminated"});
      if (terminated.empty() || int_at(terminated, {"exitCode"}).value_or(0) == 0 || !text.empty()) continue;
      container = name_of_container(status, list[0] == 'i');
      if (reason.empty()) reason = token_at(terminated, {"reason"});
      text = end_of_container(terminated);
    }
  }
  find_problem(PodProblem::kFailed, reason.empty() || reason == "Error" ? "PodFailed" : reason, std::move(text), pod,
               std::move(container));
}

// Reasons of many controllers: FailedCreate, FailedCreatePod, FailedToCreateWorkerPod, JobCreationFailed.
bool says_not_created(const SeenEvent& event) {
  return event.object_kind != "Pod" && event.reason.find("Failed") != std::string::npos &&
         event.reason.find("Creat") != std::string::npos;
}

bool begins_with_name(std::string_view text, std::string_view name) {
  return text == name || (text.starts_with(name) && text.substr(name.size()).starts_with("-"));
}

bool concerns(const PodOwner& owner, const SeenEvent& event) {
  if (owner.uids.contains(event.object_uid)) return true;
  return owner.by_name && event.object_kind != owner.kind && begins_with_name(event.object_name, owner.name);
}

const SeenEvent* newest(const std::vector<const SeenEvent*>& events) {
  const auto last = std::max_element(events.begin(), events.end(),
                                     [](const SeenEvent* a, const SeenEvent* b) { return a->last < b->last; });
  return last == events.end() ? nullptr : *last;
}

// The newest Warning of each pod says more than that its node is starting it.
void add_event(const std::vector<SeenEvent>& events, Timestamp since, SeenPod& pod) {
  if (!pod.problem || (*pod.problem != PodProblem::kStarting && *pod.problem != PodProblem::kNotReady)) return;
  std::vector<const SeenEvent*> found;
  for (const SeenEvent& event : events) {
    const bool old = !event.last.is_zero() && event.last < since;
    if (!old && !event.object_uid.empty() && event.object_uid == pod.uid && event.object_kind == "Pod")
      found.push_back(&event);
  }
  const SeenEvent* event = newest(found);
  if (event == nullptr) return;
  if (*pod.problem == PodProblem::kStarting) pod.problem = PodProblem::kNode;
  pod.token = event->reason;
  pod.text = event->text;
}

// One that has succeeded is not missing.
bool is_present(const SeenPod& pod) {
  return !pod.deleting && (!pod.ended || !pod.problem);
}

bool lacks_pods(const PodQuestion& question, int64_t present) {
  return question.wanted < 0 ? present == 0 : present < question.wanted;
}

std::optional<PodReason> not_created(const PodQuestion& question, int64_t present,
                                     const std::vector<SeenEvent>& events) {
  if (!lacks_pods(question, present)) return std::nullopt;
  std::vector<const SeenEvent*> found;
  for (const SeenEvent& event : events) {
    const bool old = !event.last.is_zero() && event.last < question.since;
    if (!old && says_not_created(event) && concerns(question.owner, event)) found.push_back(&event);
  }
  const SeenEvent* event = newest(found);
  if (event == nullptr) return std::nullopt;
  return PodReason{.problem = PodProblem::kNotCreated,
                   .token = event->reason,
                   .kind = event->object_kind,
                   .name = event->object_name,
                   .text = event->text};
}

std::string_view words_of(PodProblem problem) {
  switch (problem) {
    case PodProblem::kNotCreated:
      return " cannot create its pods";
    case PodProblem::kUnschedulable:
      return " cannot be scheduled";
    case PodProblem::kContainer:
      return " cannot run";
    case PodProblem::kFailed:
      return " failed";
    case PodProblem::kNode:
      return " cannot be started by the Node";
    case PodProblem::kGated:
      return " cannot be scheduled before the scheduling gates are removed";
    case PodProblem::kInitializing:
      return " cannot start before an init container has ended";
    case PodProblem::kNotReady:
      return " not ready yet";
    case PodProblem::kStarting:
      return " being started";
    case PodProblem::kNotScheduled:
      return " not scheduled yet";
  }
  return "";
}

// " cannot be scheduled", " are being started".
std::string predicate_of(PodProblem problem, bool plural) {
  std::string predicate;
  if (problem >= PodProblem::kNotReady) predicate = plural ? " are" : " is";
  if (problem == PodProblem::kFailed) predicate = plural ? " have" : " has";
  return predicate.append(words_of(problem));
}

bool is_of_word(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
         letter == '_';
}

}  // namespace

std::string readable_text(std::string_view text, size_t most) {
  std::string made;
  bool blank = false;
  while (!text.empty()) {
    const Utf8Character character = read_utf8(text);
    const char32_t point = character.valid ? character.code_point : 0xfffd;
    text.remove_prefix(character.length);
    // Also those that turn the direction of a line.
    const bool turns = (point >= 0x200b && point <= 0x200f) || (point >= 0x2028 && point <= 0x202e) ||
                       (point >= 0x2060 && point <= 0x2069) || point == 0xfeff;
    if (point <= 0x20 || (point >= 0x7f && point <= 0x9f) || turns) {
      blank = !made.empty();
      continue;
    }
    const size_t before = made.size();
    if (std::exchange(blank, false)) made += ' ';
    append_utf8(made, point);
    if (made.size() <= most) continue;
    made.resize(before);
    while (made.size() > most - 3) {
      while ((static_cast<unsigned char>(made.back()) & 0xC0U) == 0x80U) made.pop_back();
      made.pop_back();
    }
    return made + "...";
  }
  return made;
}

SeenPod see_pod(const json& object) {
  SeenPod pod{.name = readable_text(string_at(object, {"metadata", "name"}), kMostName),
              .uid = readable_text(string_at(object, {"metadata", "uid"}), kMostName)};
  for (const json& owner : array_at(object, {"metadata", "ownerReferences"})) {
    if (!bool_at(owner, {"controller"})) continue;
    pod.controller_kind = token_at(owner, {"kind"});
    pod.controller_name = readable_text(string_at(owner, {"name"}), kMostName);
    pod.controller_uid = readable_text(string_at(owner, {"uid"}), kMostName);
  }
  pod.ended = pod_has_ended(object);
  pod.deleting = !string_at(object, {"metadata", "deletionTimestamp"}).empty();
  if (string_at(object, {"status", "phase"}) == "Failed") read_failure(object, pod);
  if (pod.ended || pod.deleting) return pod;
  read_containers(object, pod);
  read_placing(object, pod);
  return pod;
}

SeenEvent see_event(const json& object) {
  SeenEvent event{.object_kind = token_at(object, {"involvedObject", "kind"}),
                  .object_name = readable_text(string_at(object, {"involvedObject", "name"}), kMostName),
                  .object_uid = readable_text(string_at(object, {"involvedObject", "uid"}), kMostName),
                  .reason = token_at(object, {"reason"}),
                  .text = text_at(object, {"message"})};
  event.last = std::max({seen_time(object, {"series", "lastObservedTime"}), seen_time(object, {"lastTimestamp"}),
                         seen_time(object, {"eventTime"}), seen_time(object, {"firstTimestamp"})});
  return event;
}

bool PodOwner::has(const SeenPod& pod) const {
  if (all || (!pod.controller_uid.empty() && uids.contains(pod.controller_uid))) return true;
  return by_name && !pod.controller_kind.empty() && pod.controller_kind != kind &&
         begins_with_name(pod.controller_name, name);
}

bool events_matter(const PodQuestion& question, const std::vector<SeenPod>& pods) {
  int64_t present = 0;
  bool explained = false;
  for (const SeenPod& pod : pods) {
    if (!question.owner.has(pod)) continue;
    if (is_present(pod)) ++present;
    explained = explained || (pod.problem && *pod.problem < PodProblem::kNode);
  }
  return lacks_pods(question, present) || !explained;
}

std::optional<PodReason> why_pods_are_late(const PodQuestion& question, const std::vector<SeenPod>& pods,
                                           const std::vector<SeenEvent>& events) {
  int64_t present = 0;
  std::map<std::tuple<PodProblem, std::string, std::string>, std::vector<SeenPod>> found;
  for (const SeenPod& seen : pods) {
    if (!question.owner.has(seen)) continue;
    if (is_present(seen)) ++present;
    if (!seen.problem) continue;
    SeenPod pod = seen;
    add_event(events, question.since, pod);
    found[{*pod.problem, pod.token, pod.container}].push_back(std::move(pod));
  }
  if (auto refused = not_created(question, present, events)) return refused;
  if (found.empty()) return std::nullopt;
  auto dominant = found.begin();
  for (auto each = found.begin(); each != found.end(); ++each) {
    if (std::get<0>(each->first) != std::get<0>(dominant->first)) break;
    if (each->second.size() > dominant->second.size()) dominant = each;
  }
  const auto first = std::min_element(dominant->second.begin(), dominant->second.end(),
                                      [](const SeenPod& a, const SeenPod& b) { return a.name < b.name; });
  return PodReason{.problem = std::get<0>(dominant->first),
                   .token = first->token,
                   .kind = "Pod",
                   .name = first->name,
                   .container = first->container,
                   .text = first->text,
                   .pods = static_cast<int64_t>(dominant->second.size())};
}

std::string sentence_of(const PodReason& reason) {
  std::string sentence = reason.kind + " " + reason.name;
  const int64_t more = reason.pods - 1;
  if (more > 0) sentence += " and " + std::to_string(more) + " more";
  sentence += predicate_of(reason.problem, more > 0) + " (" + reason.token + ")";
  std::string said = reason.container;
  // Whoever continues the sentence has the full stop; what was cut keeps its dots.
  std::string text = reason.text;
  if (text.ends_with('.') && !text.ends_with("..")) text.pop_back();
  if (!text.empty()) said += (said.empty() ? "" : ": ") + text;
  return said.empty() ? sentence : sentence + ": " + said;
}

std::string shown_token(std::string_view text) {
  // The first one: what pods and Events say comes after the token.
  size_t first = std::string_view::npos, begin = 0;
  for (uint8_t number = 0; number <= static_cast<uint8_t>(PodProblem::kNotScheduled); ++number) {
    for (const bool plural : {false, true}) {
      const std::string words = predicate_of(static_cast<PodProblem>(number), plural) + " (";
      const size_t found = text.find(words);
      if (found >= first) continue;
      first = found;
      begin = found + words.size();
    }
  }
  if (first == std::string_view::npos) return "";
  const std::string_view token = text.substr(begin, text.substr(begin, kMostShownToken + 1).find(')'));
  const bool shown = begin + token.size() < text.size() && token.size() <= kMostShownToken &&
                     std::all_of(token.begin(), token.end(), is_of_word);
  return shown ? std::string(token) : "";
}

}  // namespace muster
