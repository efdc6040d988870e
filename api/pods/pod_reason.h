// Why the pods of an admitted job are late: one dominant reason, from what the API server says of the pods and of the
// Events about them and about the objects that make them. Pure.
//
// Pods, their status and Events are written by others: every text is cut and has no control characters, and neither
// proves anything. Nothing is decided by it. Who can create Events in a namespace can write what is read here.
// Source: k8s.io/api/core/v1, PodStatus and Event.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/time.h"

namespace muster {

// In order: a problem that comes before another one is the dominant one.
enum class PodProblem : uint8_t {
  kNotCreated,     // pods do not exist, and their creation fails: quota, limits, Pod Security, a missing ServiceAccount
  kUnschedulable,  // by the scheduler's word
  kContainer,      // a container waits for something that does not end by itself: image, configuration, crash loop
  kFailed,         // pods have failed, and the controller of the job makes others
  kNode,           // a Warning about a pod that its node is starting: volumes, sandbox
  kGated,          // scheduling gates
  kInitializing,   // an init container runs
  kNotReady,       // containers run, and are not ready
  kStarting,       // its node starts the pod
  kNotScheduled,   // no scheduler has said anything
};

// What is read of a pod. Short: a job has thousands of them.
struct SeenPod {
  std::string name{}, uid{};
  std::string controller_kind{}, controller_name{}, controller_uid{};
  bool ended = false, deleting = false;
  std::optional<PodProblem> problem{};  // nullopt: ready, or ended with success
  std::string token{};                  // "Unschedulable", "ImagePullBackOff"
  std::string container{};              // "container main", "init container data"; empty: of the pod
  std::string text{};
};
SeenPod see_pod(const nlohmann::json& pod);

// What is read of a core/v1 Event of the type Warning.
struct SeenEvent {
  std::string object_kind{}, object_name{}, object_uid{};
  std::string reason{}, text{};
  Timestamp last{};  // zero: not known
};
SeenEvent see_event(const nlohmann::json& event);

// Whose pods these are.
struct PodOwner {
  std::string kind{}, name{};
  // Of the job and of the objects below it that make pods.
  std::set<std::string, std::less<>> uids{};
  // Beside these the objects are not known that its controller makes (a RayCluster of a RayJob): they are taken by
  // their names, which begin with the name of the job.
  bool by_name = false;
  // All listed pods count: they were selected by the label of their group.
  bool all = false;

  bool has(const SeenPod& pod) const;
};

struct PodReason {
  PodProblem problem = PodProblem::kNotScheduled;
  std::string token{};         // one word; an Event's or the kubelet's own, cut
  std::string kind{}, name{};  // of the object that has the problem: the first pod by name, or what makes the pods
  std::string container{};     // as SeenPod's
  std::string text{};          // what the API server says; can be empty
  int64_t pods = 0;            // how many have it; 0: they do not exist

  bool operator==(const PodReason&) const = default;
};

struct PodQuestion {
  PodOwner owner{};
  int64_t wanted = -1;  // pods at the same time; negative: not known
  Timestamp since{};    // Events before it are about an earlier attempt
};
// Whether Events can say more than these pods do: some are missing, or no pod says why it is late.
bool events_matter(const PodQuestion& question, const std::vector<SeenPod>& pods);
// nullopt: nothing is wrong with what was seen.
std::optional<PodReason> why_pods_are_late(const PodQuestion& question, const std::vector<SeenPod>& pods,
                                           const std::vector<SeenEvent>& events);

// "Pod train-x and 2 more cannot be scheduled (Unschedulable): 0/4 nodes are available".
std::string sentence_of(const PodReason& reason);
// The token of that sentence, from a text that contains it, as the message of an eviction: "Unschedulable". Only to
// show it: whoever can write the text chooses the word. Letters, digits and underscores, at most kMostShownToken bytes;
// empty: the text has no such sentence, or its token is of another form.
constexpr size_t kMostShownToken = 40;
std::string shown_token(std::string_view text);

// On one line, without control characters and invalid UTF-8, at most `most` bytes; what is cut ends with "...".
std::string readable_text(std::string_view text, size_t most);

}  // namespace muster
