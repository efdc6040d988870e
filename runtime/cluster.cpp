#include "runtime/cluster.h"

#include <random>

#include "api/codec/json.h"
#include "engine/loop/kind_feed.h"
#include "engine/loop/node_feed.h"
#include "engine/loop/write_answer.h"
#include "kinds/watched_kinds.h"
#include "manifests/api_services.h"
#include "manifests/names.h"
#include "reconcilers/pod_search.h"
#include "runtime/kind_check.h"
#include "runtime/log.h"
#include "runtime/version.h"

namespace muster::runtime {
namespace {

using nlohmann::json;

// Answers are cached, so this limit concerns unknown clients.
constexpr kube::RateLimit kReviewLimit{.per_second = 20, .burst = 40};
// Two for each job whose pods are late.
constexpr kube::RateLimit kNoteLimit{.per_second = 10, .burst = 20};

reconcilers::WriteOutcome outcome_of(const kube::StatusError& error) {
  if (error.conflict()) return reconcilers::WriteOutcome::kConflict;
  if (error.already_exists()) return reconcilers::WriteOutcome::kAlreadyExists;
  if (error.not_found()) return reconcilers::WriteOutcome::kNotFound;
  const bool refused = error.code == 400 || error.forbidden() || error.code == 405 || error.code == 422;
  return refused ? reconcilers::WriteOutcome::kRefused : reconcilers::WriteOutcome::kFailed;
}

void log_unreadable(const engine::Breakage& breakage) {
  log_error(
      "muster failed over an object and leaves it alone until it changes; please report this",
      {{"object", to_text(*breakage.key)}, {"part", "reading"}, {"where", breakage.where}, {"what", breakage.what}});
}

}  // namespace

// Posts the events of one watch (engine/loop/kind_feed.h).
class Cluster::Feed final : public kube::WatchSink {
 public:
  // `name`: the name of the single watched object, or empty.
  Feed(EngineLoop& loop, const WatchedKind& kind, std::string name, const engine::LoopObserver* observer,
       std::shared_ptr<const ReconcilerSettings> settings)
      : loop_(loop), events_(kind, std::move(name), observer, std::move(settings)) {}

  void on_list_started() override { events_.begin_list(); }
  void on_listed(const json& object) override {
    if (const auto listed = events_.list(object); !listed) log_unreadable(listed.error());
  }
  void on_replaced(const std::string& version) override {
    loop_.post_when_room(events_.end_list(read_version(version)));
  }
  void on_absent() override { loop_.post(events_.absence()); }
  void on_caught_up(uint64_t term) override {
    if (const auto caught_up = events_.caught_up(term)) loop_.post(*caught_up);
  }
  void on_event(kube::WatchChange change, const json& object) override {
    auto event = change == kube::WatchChange::kDeleted ? events_.removal(object) : events_.change(object);
    if (event)
      loop_.post_when_room(*std::move(event));
    else
      log_unreadable(event.error());
  }

 private:
  EngineLoop& loop_;
  engine::KindFeed events_;
};

// The same for nodes, or for the pods on them.
class Cluster::Nodes final : public kube::WatchSink {
 public:
  Nodes(EngineLoop& loop, scheduler::NodePart part, bool recorded) : loop_(loop), events_(part, recorded) {}

  void on_list_started() override { loop_.post_when_room(events_.begin_list()); }
  void on_listed(const json& object) override { post_seen(object); }
  void on_replaced(const std::string&) override { loop_.post_when_room(events_.end_list()); }
  // Every API server serves both.
  void on_absent() override {}
  void on_caught_up(uint64_t term) override { loop_.post_when_room(events_.caught_up(term)); }
  void on_event(kube::WatchChange change, const json& object) override {
    if (change != kube::WatchChange::kDeleted) return post_seen(object);
    if (auto gone = events_.removed(object)) loop_.post_when_room(*std::move(gone));
  }

 private:
  void post_seen(const json& object) {
    auto seen = events_.seen(object);
    if (!seen) return log_unreadable(seen.error());
    if (*seen) loop_.post_when_room(**std::move(seen));
  }

  EngineLoop& loop_;
  engine::NodeFeed events_;
};

Result<std::unique_ptr<Cluster>> Cluster::connect(const Options& options, const Clock& clock) {
  auto access = kube::find_cluster_access(
      {.kubeconfig = options.kubeconfig, .context = options.context, .environment = kube::process_variable});
  if (!access) return fail(access.error().message);
  std::unique_ptr<Cluster> cluster(new Cluster(clock));
  kube::ClientOptions client_options;
  client_options.user_agent = kube::user_agent(kVersion, kCommit);
  if (options.qps > 0) client_options.rate_limit = {options.qps, static_cast<double>(options.burst)};
  const auto make = [&](kube::RateLimit limit) {
    client_options.rate_limit = limit;
    return kube::KubeClient::make(*access, client_options, cluster->timing(), cluster->log_);
  };
  auto client = make(client_options.rate_limit);
  if (!client) return fail(client.error().message);
  cluster->client_ = std::move(*client);
  auto lease_client = make({});
  if (!lease_client) return fail(lease_client.error().message);
  cluster->lease_client_ = std::move(*lease_client);
  auto review_client = make(kReviewLimit);
  if (!review_client) return fail(review_client.error().message);
  cluster->review_client_ = std::move(*review_client);
  auto note_client = make(kNoteLimit);
  if (!note_client) return fail(note_client.error().message);
  cluster->note_client_ = std::move(*note_client);
  return cluster;
}

kube::Timing Cluster::timing() const {
  return {clock_, kube::system_sleeper(), [] {
            thread_local std::mt19937_64 engine{std::random_device{}()};
            return std::uniform_real_distribution<double>(0, 1)(engine);
          }};
}

Cluster::Cluster(const Clock& clock) : clock_(clock), metrics_(clock), log_(clock, metrics_) {}

Cluster::~Cluster() {
  stop_watches();
}

void Cluster::watch(EngineLoop& loop, const WatchedKind& kind, const std::string& name, kube::KindCheck check) {
  kube::Selection selection{.label_selector = std::string(kind.label_selector),
                            .field_selector = name.empty() ? std::string(kind.field_selector) : "metadata.name=" + name,
                            .metadata_only = kind.metadata_only,
                            .managed_fields = kind.managed_fields};
  start(*kind.type, std::move(selection), std::make_unique<Feed>(loop, kind, name, observer_, settings_),
        std::move(check));
}

void Cluster::watch_nodes(EngineLoop& loop, scheduler::NodePart part) {
  const bool nodes = part == scheduler::NodePart::kNodes;
  start(nodes ? kNodes : kPods, {.field_selector = nodes ? "" : std::string(engine::kBoundPods)},
        std::make_unique<Nodes>(loop, part, observer_ != nullptr));
}

void Cluster::start(const ResourceType& type, kube::Selection selection, std::unique_ptr<kube::WatchSink> sink,
                    kube::KindCheck check) {
  feeds_.push_back(std::move(sink));
  MutexLock lock(watches_mutex_);
  watches_.push_back(std::make_unique<kube::Watch>(api(), kube::resource_of(type), std::move(selection), *feeds_.back(),
                                                   log_, timing(), term_, std::move(check)));
}

kube::KindCheck Cluster::check_of(const WatchedKind& kind, std::span<const KindDescriptionPtr> own_kinds) {
  for (const KindDescriptionPtr& own : own_kinds) {
    if (own->type() == *kind.type)
      return [this, own](std::stop_token stop) { return contradiction_of(api(), *own, std::move(stop)); };
  }
  return {};
}

void Cluster::catch_up(uint64_t term) {
  MutexLock lock(watches_mutex_);
  term_ = term;
  for (const auto& watch : watches_) watch->catch_up(term);
}

void Cluster::start_watches(EngineLoop& loop, const ReconcilerSettings& settings, const std::string& configurations,
                            bool api_services, std::span<const KindDescriptionPtr> own_kinds) {
  settings_ = std::make_shared<const ReconcilerSettings>(settings);
  for (const WatchedKind& kind : watched_kinds()) {
    if (engine::is_watched(kind, settings)) {
      watch(loop, kind, {}, check_of(kind, own_kinds));
      continue;
    }
    for (engine::Event& event : engine::events_of_unwatched(*kind.type)) loop.post(std::move(event));
  }
  if (settings.queues.watch_nodes) {
    watch_nodes(loop, scheduler::NodePart::kNodes);
    watch_nodes(loop, scheduler::NodePart::kPods);
  }
  if (configurations.empty()) return;
  for (const ResourceType* type : {&kMutatingWebhookConfigurations, &kValidatingWebhookConfigurations}) {
    watch(loop, {.type = type}, configurations);
  }
  for (std::string_view definition : manifests::kConvertedDefinitionNames) {
    watch(loop, {.type = &kCustomResourceDefinitions}, std::string(definition));
  }
  if (!api_services) return;
  for (std::string_view service : manifests::kVisibilityApiServiceNames)
    watch(loop, {.type = &manifests::kApiServices}, std::string(service));
}

void Cluster::stop_watches() {
  std::vector<std::unique_ptr<kube::Watch>> ending;
  {
    MutexLock lock(watches_mutex_);
    ending = std::move(watches_);
  }
  for (const auto& watch : ending) watch->request_stop();
  ending.clear();
  feeds_.clear();
}

kube::KubeApi::Answer Cluster::find_pods(const reconcilers::Write& write, MonotonicTime not_after,
                                         std::stop_token stop) {
  const kube::Selection selection{.ns = write.target.ns,
                                  .label_selector = reconcilers::label_selector_of(write),
                                  .field_selector = std::string(reconcilers::kPodsThatRun),
                                  .metadata_only = true};
  auto found = api().find(
      kube::resource_of(*write.target.type), selection,
      [&](const json& pod) { return reconcilers::is_left(write, pod); }, not_after, stop);
  if (!found) return fail_with(found.error());
  return json(*found);
}

kube::KubeApi::Answer Cluster::send(const reconcilers::Write& write, MonotonicTime not_after, std::stop_token stop) {
  const ObjectKey& target = write.target;
  const kube::Resource resource = kube::resource_of(*target.type);
  kube::WriteOptions options{.field_manager = std::string(manifests::kAppName),
                             .managed_fields = *target.type == kCustomResourceDefinitions,
                             .not_after = not_after};
  switch (write.verb) {
    case reconcilers::Verb::kCreate:
      return api().create(resource, target.ns, write.body, options, stop);
    case reconcilers::Verb::kPatch:
      return api().patch_merge(resource, target.ns, target.name, write.body, options, stop);
    case reconcilers::Verb::kPatchStatus:
      options.subresource = "status";
      options.metadata_only = true;
      return api().patch_merge(resource, target.ns, target.name, write.body, options, stop);
    case reconcilers::Verb::kFindPods:
      return find_pods(write, not_after, stop);
    case reconcilers::Verb::kDelete:
      break;
  }
  const char* propagation = write.propagation == reconcilers::Propagation::kForeground ? "Foreground" : "Background";
  return api().remove(resource, target.ns, target.name,
                      {.propagation = propagation,
                       .uid = write.uid,
                       .version = std::string(string_at(write.body, {"metadata", "resourceVersion"})),
                       .not_after = not_after},
                      stop);
}

engine::WriteFinished Cluster::write(const engine::Command& command, MonotonicTime not_after, std::stop_token stop) {
  const reconcilers::Write& write = command.write;
  const auto answer = send(write, not_after, stop);
  if (!answer) {
    const std::string object = to_text(write.target);
    const reconcilers::WriteOutcome outcome = outcome_of(answer.error());
    // The other errors are writes of other clients in the meantime; the watch delivers the new state.
    if (outcome == reconcilers::WriteOutcome::kRefused || outcome == reconcilers::WriteOutcome::kFailed)
      log_.write_failed(object, answer.error().message, outcome == reconcilers::WriteOutcome::kRefused);
    else
      log_debug("a write came too late", {{"object", object}, {"why", answer.error().message}});
    return engine::answer_of_failed(command, outcome, answer.error().code == 500, answer.error().message);
  }
  if (write.verb == reconcilers::Verb::kFindPods) {
    const auto outcome = answer->get<bool>() ? reconcilers::WriteOutcome::kDone : reconcilers::WriteOutcome::kNotFound;
    return {.id = command.id, .outcome = outcome};
  }
  log_debug("written", {{"object", to_text(write.target)}});
  engine::ReadAnswer read = engine::answer_of_done(command, *answer, observer_);
  if (read.breakage) log_unreadable(*read.breakage);
  return std::move(read.finished);
}

}  // namespace muster::runtime
