#include "runtime/surroundings.h"

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/meta/resource_type.h"
#include "runtime/jobset_mode.h"
#include "runtime/kind_check.h"

namespace muster::runtime {
namespace {

using nlohmann::json;

constexpr Duration kFirstDelay = std::chrono::seconds(1);
constexpr Duration kLongestDelay = std::chrono::seconds(10);

// "docker-pullable://registry/muster@sha256:..." without the runtime's prefix; empty
// when the runtime knows no digest that a kubelet could pull by.
std::string pullable(std::string_view image_id) {
  if (auto scheme = image_id.find("://"); scheme != std::string_view::npos) image_id.remove_prefix(scheme + 3);
  return image_id.find("@sha256:") == std::string_view::npos ? "" : std::string(image_id);
}

// The image of the container that runs `muster`, from its Pod; with the digest if the Pod has it.
std::string image_of(const json& pod) {
  const json& containers = array_at(pod, {"spec", "containers"});
  if (containers.empty()) return "";
  const std::string_view name = string_at(containers[0], {"name"});
  for (const json& status : array_at(pod, {"status", "containerStatuses"})) {
    if (string_at(status, {"name"}) != name) continue;
    if (std::string image = pullable(string_at(status, {"imageID"})); !image.empty()) return image;
  }
  return std::string(string_at(containers[0], {"image"}));
}

// Each request is repeated until it has been answered once.
class Learner {
 public:
  Learner(kube::KubeApi& api, const SurroundingsQuestion& question, const Clock& clock)
      : api_(api), question_(question), clock_(clock) {}

  // Empty: all values are known. Otherwise the unknown values and the reasons.
  std::string ask(const std::stop_token& stop) {
    if (auto asked = ask_image(stop); !asked) return "the own Pod cannot be read: " + asked.error().message;
    if (auto asked = ask_user(stop); !asked) return "the own user name is not known: " + asked.error().message;
    if (auto asked = ask_jobsets(stop); !asked) return asked.error().message;
    if (auto asked = ask_kinds(stop); !asked) return asked.error().message;
    return "";
  }
  // Contradictions between the definitions and the described kinds, one per line; empty: none.
  const std::string& contradiction() const { return contradiction_; }
  const JobSetTraces& traces() const { return *traces_; }
  OwnIdentity own() const {
    // A person who runs muster with their own kubeconfig counts as a person for the suspend guard.
    const bool is_account = user_->starts_with("system:serviceaccount:");
    return {.image = *image_,
            .user = is_account ? *user_ : "",
            .name = *user_,
            .jobset_controller = foreign_controller_user(*traces_)};
  }

 private:
  Outcome<> ask_image(const std::stop_token& stop) {
    if (image_) return Done{};
    if (question_.pod_name.empty()) {
      image_ = "";
      return Done{};
    }
    const auto pod = api_.get(kube::resource_of(kPods), question_.pod_namespace, question_.pod_name, stop);
    if (!pod) return fail(pod.error().message);
    std::string image = image_of(*pod);
    if (image.empty()) return fail("it names no image");
    image_ = std::move(image);
    return Done{};
  }

  Outcome<> ask_user(const std::stop_token& stop) {
    if (user_) return Done{};
    const json review = {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
    const auto answer = api_.create({"authentication.k8s.io", "v1", "selfsubjectreviews", false, "SelfSubjectReview"},
                                    "", review, {}, stop);
    if (!answer) return fail(answer.error().message);
    const std::string_view user = string_at(*answer, {"status", "userInfo", "username"});
    if (user.empty()) return fail("the API server returned no user name");
    user_ = user;
    return Done{};
  }

  Outcome<> ask_jobsets(const std::stop_token& stop) {
    if (traces_) return Done{};
    auto found = find_jobset_traces(api_, question_.jobset_controller, clock_.now().wall, stop);
    if (!found) return fail(found.error().message);
    traces_ = std::move(*found);
    return Done{};
  }

  Outcome<> ask_kinds(const std::stop_token& stop) {
    for (; asked_kinds_ < question_.kinds.size(); ++asked_kinds_) {
      const KindDescription& kind = *question_.kinds[asked_kinds_];
      const auto found = contradiction_of(api_, kind, stop);
      if (!found)
        return fail("CustomResourceDefinition " + kind.plural + "." + kind.group +
                    " cannot be read: " + found.error().message);
      if (!found->empty()) contradiction_ += (contradiction_.empty() ? "" : "\n") + *found;
    }
    return Done{};
  }

  kube::KubeApi& api_;
  const SurroundingsQuestion& question_;
  const Clock& clock_;
  std::optional<std::string> image_, user_;
  std::optional<JobSetTraces> traces_;
  size_t asked_kinds_ = 0;
  std::string contradiction_;
};

}  // namespace

SurroundingsQuestion surroundings_question(const LoadedConfiguration& configuration) {
  SurroundingsQuestion question{.jobset_controller = configuration.muster.jobset_controller,
                                .kinds = configuration.kinds};
  const char *ns = std::getenv("POD_NAMESPACE"), *name = std::getenv("POD_NAME");
  if (configuration.muster.waiter_image || ns == nullptr || *ns == '\0' || name == nullptr) return question;
  question.pod_namespace = ns;
  question.pod_name = name;
  return question;
}

Result<std::optional<Surroundings>> learn_surroundings(kube::KubeApi& api, const SurroundingsQuestion& question,
                                                       const kube::Timing& timing,
                                                       const std::function<void(const std::string& why)>& waiting,
                                                       std::stop_token stop) {
  Learner learner(api, question, timing.clock);
  Duration delay = kFirstDelay;
  while (true) {
    const std::string unknown = learner.ask(stop);
    if (stop.stop_requested()) return std::optional<Surroundings>();
    if (unknown.empty()) break;
    waiting(unknown);
    timing.sleeper.sleep(delay, stop);
    delay = std::min(2 * delay, kLongestDelay);
  }
  if (!learner.contradiction().empty()) return fail(learner.contradiction());
  const auto native = decide_native_jobsets(question.jobset_controller, learner.traces());
  if (!native) return fail(native.error().message);
  return std::optional(Surroundings{learner.own(), *native});
}

}  // namespace muster::runtime
