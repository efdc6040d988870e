#include "api/pods/pod_reason.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace muster::pod_reason_test {
namespace {

using nlohmann::json;

json owned_by(const std::string& kind, const std::string& name, const std::string& uid) {
  return json::array({{{"kind", kind}, {"name", name}, {"uid", uid}, {"controller", true}}});
}

json pod(const std::string& name, const json& status, const json& spec = json::object()) {
  return {{"metadata", {{"name", name}, {"uid", name + "-uid"}, {"ownerReferences", owned_by("Job", "train", "j")}}},
          {"spec", spec},
          {"status", status}};
}

json waiting(const std::string& name, const std::string& reason, const std::string& message = "") {
  return {{"name", name}, {"state", {{"waiting", {{"reason", reason}, {"message", message}}}}}};
}

json unscheduled(const std::string& reason, const std::string& message) {
  return {{"phase", "Pending"},
          {"conditions", {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", reason}, {"message", message}}}}};
}

json warning(const std::string& kind, const std::string& name, const std::string& uid, const std::string& reason,
             const std::string& message, const std::string& last = "2026-01-01T12:00:00Z") {
  return {{"involvedObject", {{"kind", kind}, {"name", name}, {"uid", uid}}},
          {"reason", reason},
          {"message", message},
          {"lastTimestamp", last}};
}

const PodOwner kOwner{.kind = "Job", .name = "train", .uids = {"j"}};
const json kNode = {{"nodeName", "n1"}};

std::string reason_of(const PodQuestion& question, const std::vector<json>& pods, const std::vector<json>& events) {
  std::vector<SeenPod> seen;
  std::vector<SeenEvent> told;
  for (const json& each : pods) seen.push_back(see_pod(each));
  for (const json& each : events) told.push_back(see_event(each));
  const auto reason = why_pods_are_late(question, seen, told);
  return reason ? sentence_of(*reason) : "";
}

}  // namespace

TEST_CASE("pod reason: each status of a pod has one reason, with the words of the API server") {
  struct Row {
    const char* what;
    json status;
    json spec;
    std::string sentence;
  };
  const json running = {{"running", {{"startedAt", "2026-01-01T12:00:00Z"}}}};
  const std::vector<Row> rows = {
      {"no node fits", unscheduled("Unschedulable", "0/4 nodes are available: 4 Insufficient cpu."), json::object(),
       "Pod p cannot be scheduled (Unschedulable): 0/4 nodes are available: 4 Insufficient cpu"},
      {"gates", unscheduled("SchedulingGated", "Scheduling is blocked due to non-empty scheduling gates"),
       json::object(),
       "Pod p cannot be scheduled before the scheduling gates are removed (SchedulingGated): Scheduling is blocked due "
       "to non-empty scheduling gates"},
      {"no scheduler", {{"phase", "Pending"}}, json::object(), "Pod p is not scheduled yet (NotScheduled)"},
      {"image",
       {{"phase", "Pending"}, {"containerStatuses", {waiting("main", "ImagePullBackOff", "Back-off x")}}},
       kNode,
       "Pod p cannot run (ImagePullBackOff): container main: Back-off x"},
      {"image of an init container",
       {{"phase", "Pending"},
        {"initContainerStatuses", {waiting("data", "ErrImagePull", "not found")}},
        {"containerStatuses", {waiting("main", "PodInitializing")}}},
       kNode,
       "Pod p cannot run (ErrImagePull): init container data: not found"},
      {"a missing Secret",
       {{"phase", "Pending"}, {"containerStatuses", {waiting("main", "CreateContainerConfigError", "secret \"s\"")}}},
       kNode,
       "Pod p cannot run (CreateContainerConfigError): container main: secret \"s\""},
      {"crash loop",
       {{"phase", "Running"},
        {"containerStatuses",
         {{{"name", "main"},
           {"restartCount", 4},
           {"state", {{"waiting", {{"reason", "CrashLoopBackOff"}, {"message", "back-off 40s"}}}}},
           {"lastState", {{"terminated", {{"reason", "OOMKilled"}, {"exitCode", 137}}}}}}}}},
       kNode,
       "Pod p cannot run (CrashLoopBackOff): container main: OOMKilled, exit code 137, 4 restarts"},
      {"init container runs",
       {{"phase", "Pending"},
        {"initContainerStatuses", {{{"name", "data"}, {"state", running}}}},
        {"containerStatuses", {waiting("main", "PodInitializing")}}},
       kNode,
       "Pod p cannot start before an init container has ended (Initializing): init container data"},
      {"a sidecar is no obstacle",
       {{"phase", "Running"},
        {"initContainerStatuses", {{{"name", "proxy"}, {"state", running}, {"started", true}}}},
        {"containerStatuses", {{{"name", "main"}, {"state", running}, {"ready", true}}}}},
       kNode,
       ""},
      {"not ready",
       {{"phase", "Running"}, {"containerStatuses", {{{"name", "main"}, {"state", running}, {"ready", false}}}}},
       kNode,
       "Pod p is not ready yet (NotReady): container main"},
      {"being started",
       {{"phase", "Pending"}, {"containerStatuses", {waiting("main", "ContainerCreating")}}},
       kNode,
       "Pod p is being started (ContainerCreating): on Node n1"},
      {"failed",
       {{"phase", "Failed"},
        {"containerStatuses",
         {{{"name", "main"}, {"state", {{"terminated", {{"reason", "Error"}, {"exitCode", 3}}}}}}}}},
       kNode,
       "Pod p has failed (PodFailed): container main: exit code 3"},
      {"evicted by its node",
       {{"phase", "Failed"}, {"reason", "Evicted"}, {"message", "low on memory"}},
       kNode,
       "Pod p has failed (Evicted): low on memory"},
      {"succeeded", {{"phase", "Succeeded"}}, kNode, ""},
      {"ready",
       {{"phase", "Running"}, {"containerStatuses", {{{"name", "main"}, {"state", running}, {"ready", true}}}}},
       kNode,
       ""},
      {"of the wrong shape", "text", kNode, "Pod p is being started (ContainerCreating): on Node n1"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    CHECK(reason_of({.owner = kOwner, .wanted = 1}, {pod("p", row.status, row.spec)}, {}) == row.sentence);
  }
}

TEST_CASE("pod reason: missing pods have the reason of what makes them, whatever refuses them") {
  const PodQuestion question{.owner = kOwner, .wanted = 3, .since = Timestamp{1767268800, 0}};
  const std::string quota = R"(pods "train-x" is forbidden: exceeded quota: q, requested: cpu=1)";
  const json refused = warning("Job", "train", "j", "FailedCreate", "Error creating: " + quota);
  CHECK(reason_of(question, {}, {refused}) ==
        "Job train cannot create its pods (FailedCreate): Error creating: " + quota);
  // Also where some exist.
  const json unfit = pod("a", unscheduled("Unschedulable", "0/4"));
  CHECK(reason_of(question, {unfit}, {refused}).starts_with("Job train cannot create its pods"));
  // When all exist, the Event is about the past.
  CHECK(reason_of(question, {unfit, unfit, unfit}, {refused}) ==
        "Pod a and 2 more cannot be scheduled (Unschedulable): 0/4");
  // The newest one; of this attempt; of this object; about a creation.
  const json newer = warning("Job", "train", "j", "FailedCreate", "limit", "2026-01-01T12:00:09Z");
  CHECK(reason_of(question, {}, {newer, refused}) == "Job train cannot create its pods (FailedCreate): limit");
  CHECK(reason_of(question, {}, {warning("Job", "train", "j", "FailedCreate", "x", "2026-01-01T11:59:59Z")}).empty());
  CHECK(reason_of(question, {}, {warning("Job", "train", "other", "FailedCreate", "x")}).empty());
  CHECK(reason_of(question, {}, {warning("Job", "train", "j", "BackoffLimitExceeded", "x")}).empty());
  CHECK(reason_of(question, {}, {warning("Pod", "train", "j", "FailedCreatePodSandBox", "x")}).empty());
  // What the controller of another kind has made is known by its name.
  const PodOwner ray{.kind = "RayJob", .name = "tune", .uids = {"r"}, .by_name = true};
  const json of_cluster = warning("RayCluster", "tune-x7k2p", "c", "FailedToCreateWorkerPod", "no");
  CHECK(reason_of({.owner = ray}, {}, {of_cluster}) ==
        "RayCluster tune-x7k2p cannot create its pods (FailedToCreateWorkerPod): no");
  CHECK(reason_of({.owner = ray}, {}, {warning("RayCluster", "tuned", "c", "FailedToCreateWorkerPod", "no")}).empty());
}

TEST_CASE("pod reason: the dominant one is the first of the order, then that of most pods") {
  const json gated = pod("g", unscheduled("SchedulingGated", "gates"));
  const json image = pod("i", {{"containerStatuses", {waiting("main", "ErrImagePull", "no")}}}, kNode);
  const json name = pod("n", {{"containerStatuses", {waiting("main", "InvalidImageName", "bad")}}}, kNode);
  const json starts = pod("s", {{"phase", "Pending"}}, kNode);
  const PodQuestion question{.owner = kOwner, .wanted = 1};
  CHECK(reason_of(question, {gated, starts, image}, {}).starts_with("Pod i cannot run (ErrImagePull)"));
  CHECK(reason_of(question, {image, name, name}, {}).starts_with("Pod n and 1 more cannot run (InvalidImageName)"));
  CHECK(reason_of(question, {gated, starts}, {}).starts_with("Pod g cannot be scheduled before"));
  // A Warning about a pod says why its node does not start it.
  const std::vector<json> events = {warning("Pod", "s", "s-uid", "FailedMount", "secret \"s\" not found")};
  CHECK(reason_of(question, {starts}, events) ==
        "Pod s cannot be started by the Node (FailedMount): secret \"s\" not found");
  CHECK(events_matter(question, {see_pod(starts)}));
  CHECK(!events_matter(question, {see_pod(image)}));
  CHECK(events_matter({.owner = kOwner, .wanted = 2}, {see_pod(image)}));
}

TEST_CASE("pod reason: pods of another owner do not count, whatever their labels and names say") {
  json other = pod("train-x", unscheduled("Unschedulable", "other"));
  other["metadata"]["ownerReferences"] = owned_by("Job", "train", "another uid");
  json bare = other;
  bare["metadata"].erase("ownerReferences");
  const PodQuestion question{.owner = kOwner, .wanted = 1};
  CHECK(reason_of(question, {other, bare}, {}).empty());
  CHECK(!reason_of({.owner = {.all = true}, .wanted = 1}, {bare}, {}).empty());
  const PodOwner ray{.kind = "RayJob", .name = "train", .uids = {"r"}, .by_name = true};
  other["metadata"]["ownerReferences"] = owned_by("RayJob", "train", "another uid");
  CHECK(reason_of({.owner = ray}, {other}, {}).empty());
  other["metadata"]["ownerReferences"] = owned_by("RayCluster", "train-x1", "c");
  CHECK(!reason_of({.owner = ray}, {other}, {}).empty());
}

TEST_CASE("pod reason: texts are short, on one line and steer no terminal, whatever their writer sends") {
  const std::string large(1'000'000, 'x');
  const std::string steering = "\x1b[2Jred\r\n\x07line\xff\xe2\x80\xaeturned";
  const std::string text =
      reason_of({.owner = kOwner, .wanted = 1}, {pod("p", unscheduled(steering + large, steering + large))}, {});
  CHECK(text.size() < 600);
  for (const char letter : text) CHECK(static_cast<unsigned char>(letter) >= 0x20);
  CHECK(text.find("\xe2\x80\xae") == std::string::npos);
  CHECK(text.ends_with("..."));
  CHECK(readable_text("a \n\t b", 10) == "a b");
  CHECK(readable_text(std::string(1'000'000, '\n'), 10).empty());
  // No character is cut in two.
  CHECK(readable_text("äöüäöü", 8) == "äö...");
  CHECK(readable_text("12345678", 8) == "12345678");
  CHECK(readable_text("123456789", 8) == "12345...");
  const SeenEvent event = see_event(warning("Job", large, large, large, large));
  CHECK(event.object_name.size() + event.object_uid.size() + event.reason.size() + event.text.size() < 1000);
}

TEST_CASE("pod reason: a message gives back the token of its sentence, and only a word") {
  for (uint8_t problem = 0; problem <= static_cast<uint8_t>(PodProblem::kNotScheduled); ++problem) {
    for (const int64_t pods : {0, 1, 3}) {
      const PodReason reason{.problem = static_cast<PodProblem>(problem),
                             .token = "Some_Reason1",
                             .kind = "Pod",
                             .name = "p",
                             .container = "container main",
                             .text = "Job other cannot create its pods (FailedCreate)",
                             .pods = pods};
      const std::string sentence = sentence_of(reason);
      INFO(sentence);
      CHECK(shown_token(sentence) == "Some_Reason1");
      CHECK(shown_token("Exceeded the PodsReady timeout a/b (0 of 1 pods are ready; " + sentence + ")") ==
            "Some_Reason1");
    }
  }
  const auto token_of = [](const std::string& token) {
    return shown_token("late (Pod p cannot be scheduled (" + token + "): why)");
  };
  CHECK(token_of("Unschedulable") == "Unschedulable");
  CHECK(token_of(std::string(kMostShownToken, 'x')) == std::string(kMostShownToken, 'x'));
  for (const std::string& other : {std::string(), std::string(kMostShownToken + 1, 'x'), std::string(1'000'000, 'x'),
                                   std::string("two words"), std::string("\x1b[2J"), std::string("<b>"),
                                   std::string("a\nb"), std::string("\xe2\x80\xae"), std::string("a(b")})
    CHECK_MESSAGE(token_of(other).empty(), other.substr(0, 50));
  // A note that was cut.
  CHECK(shown_token("late (Pod p cannot be scheduled (Unsched").empty());
  CHECK(shown_token("late (Pod p cannot be scheduled (").empty());
  for (const char* none : {"", "Exceeded the PodsReady timeout a/b", "Exceeded (0 of 1 pods are ready)",
                           "the failure of all flavors: spot (TimeoutForPodsReadyExceeded)"})
    CHECK_MESSAGE(shown_token(none).empty(), none);
}

}  // namespace muster::pod_reason_test
