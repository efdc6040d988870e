#include "commands/cluster.h"

#include <cstdlib>
#include <random>

#include "api/json.h"
#include "api/watched_kinds.h"
#include "commands/log.h"
#include "commands/version.h"

namespace muster {
namespace {

using nlohmann::json;

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

kube::Timing timing_of(const Clock& clock) {
  return {clock, kube::system_sleeper(), [] {
            thread_local std::mt19937_64 engine{std::random_device{}()};
            return std::uniform_real_distribution<double>(0, 1)(engine);
          }};
}

// "docker-pullable://registry/muster@sha256:..." without the runtime's prefix; empty
// when the runtime knows no digest that a kubelet could pull by.
std::string pullable(std::string_view image_id) {
  if (auto scheme = image_id.find("://"); scheme != std::string_view::npos) image_id.remove_prefix(scheme + 3);
  return image_id.find("@sha256:") == std::string_view::npos ? "" : std::string(image_id);
}

// The image of the container that runs `muster`, from its Pod.
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

// What the view reads of an object that is watched for its metadata: the rest, most
// of all managedFields, would make a list of 50,000 Jobs hundreds of megabytes.
json essentials(const json& object) {
  json kept = {{"apiVersion", string_at(object, {"apiVersion"})}, {"kind", string_at(object, {"kind"})}};
  for (const char* key : {"name", "namespace", "uid", "labels", "ownerReferences"}) {
    if (const json* value = find_path(object, {"metadata", key})) kept["metadata"][key] = *value;
  }
  return kept;
}

}  // namespace

// Turns what one watch sees into events.
class Cluster::Feed final : public kube::WatchSink {
 public:
  Feed(EngineLoop& loop, const kube::Resource& resource, bool metadata_only)
      : loop_(loop), api_version_(kube::api_version(resource)), kind_(resource.kind), metadata_only_(metadata_only) {}

  void on_list_started() override { listed_.clear(); }
  void on_listed(const json& object) override { listed_.push_back(kept(object)); }
  void on_replaced(const std::string& version) override {
    if (version.empty())
      loop_.post(KindAbsent{api_version_, kind_});
    else
      loop_.post(KindListed{api_version_, kind_, std::exchange(listed_, {})});
  }
  void on_event(kube::WatchChange change, const json& object) override {
    if (change == kube::WatchChange::kDeleted)
      loop_.post(ObjectRemoved{kept(object)});
    else
      loop_.post(ObjectChanged{kept(object)});
  }

 private:
  json kept(const json& object) const { return metadata_only_ ? essentials(object) : object; }

  EngineLoop& loop_;
  const std::string api_version_, kind_;
  const bool metadata_only_;
  std::vector<json> listed_;
};

Result<std::unique_ptr<Cluster>> Cluster::connect(const Options& options, const Clock& clock) {
  auto access = kube::find_cluster_access(
      {.kubeconfig = options.kubeconfig, .context = options.context, .environment = environment});
  if (!access) return fail(access.error().message);
  std::unique_ptr<Cluster> cluster(new Cluster(clock));
  kube::ClientOptions client_options;
  client_options.user_agent = kube::user_agent(kVersion, kCommit);
  if (options.qps > 0) client_options.rate_limit = {options.qps, static_cast<double>(options.burst)};
  auto client = kube::KubeClient::make(std::move(*access), client_options, timing_of(clock), cluster->log_);
  if (!client) return fail(client.error().message);
  cluster->client_ = std::move(*client);
  return cluster;
}

Cluster::Cluster(const Clock& clock) : clock_(clock), log_(clock) {}

Cluster::~Cluster() {
  stop_watches();
}

OwnIdentity Cluster::identify() {
  OwnIdentity own;
  const auto pod_name = environment("POD_NAME"), pod_namespace = environment("POD_NAMESPACE");
  if (pod_name && pod_namespace) {
    auto pod = api().get({"", "v1", "pods", true, "Pod"}, *pod_namespace, *pod_name);
    if (pod)
      own.image = image_of(*pod);
    else
      log_warning("own Pod cannot be read; the waiter's image is muster:<version>", {{"why", pod.error().message}});
  }
  const json review = {{"apiVersion", "authentication.k8s.io/v1"}, {"kind", "SelfSubjectReview"}};
  auto answer =
      api().create({"authentication.k8s.io", "v1", "selfsubjectreviews", false, "SelfSubjectReview"}, "", review);
  if (!answer) {
    log_warning("own user name is not known; name it in admitters", {{"why", answer.error().message}});
    return own;
  }
  // A person who runs muster with their own kubeconfig stays a person to the suspend guard.
  const std::string_view user = string_at(*answer, {"status", "userInfo", "username"});
  if (user.starts_with("system:serviceaccount:")) own.user = user;
  return own;
}

void Cluster::watch(EngineLoop& loop, kube::Resource resource, kube::Selection selection) {
  feeds_.push_back(std::make_unique<Feed>(loop, resource, selection.metadata_only));
  watches_.push_back(std::make_unique<kube::Watch>(api(), std::move(resource), std::move(selection), *feeds_.back(),
                                                   log_, timing_of(clock_)));
}

void Cluster::start_watches(EngineLoop& loop, const std::string& configurations) {
  for (const WatchedKind& kind : watched_kinds()) {
    kube::Resource resource{std::string(kind.group), std::string(kind.version), std::string(kind.plural), false,
                            std::string(kind.kind)};
    watch(loop, std::move(resource), {.metadata_only = kind.metadata_only});
  }
  if (configurations.empty()) return;
  for (auto [plural, kind] : {std::pair{"mutatingwebhookconfigurations", "MutatingWebhookConfiguration"},
                              std::pair{"validatingwebhookconfigurations", "ValidatingWebhookConfiguration"}}) {
    watch(loop, {"admissionregistration.k8s.io", "v1", plural, false, kind},
          {.field_selector = "metadata.name=" + configurations});
  }
}

void Cluster::stop_watches() {
  for (const auto& watch : watches_) watch->request_stop();
  watches_.clear();
  feeds_.clear();
}

bool Cluster::write(const PatchObject& command) {
  const size_t slash = command.target.find('/');
  const std::string plural = command.target.substr(0, slash), name = command.target.substr(slash + 1);
  auto written = api().patch_merge({"admissionregistration.k8s.io", "v1", plural, false, ""}, "", name,
                                   command.merge_patch, {.field_manager = "muster"});
  if (written) {
    log_info("webhook configuration brought in line", {{"object", command.target}});
    return true;
  }
  // A conflict is another replica's or an admin's write; the watch brings the new state.
  if (written.error().conflict())
    log_debug("webhook configuration changed meanwhile", {{"object", command.target}});
  else
    log_warning("webhook configuration cannot be written",
                {{"object", command.target}, {"why", written.error().message}});
  return false;
}

}  // namespace muster
