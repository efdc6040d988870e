#include "engine/engine.h"

#include <algorithm>

#include "api/json.h"
#include "api/watched_kinds.h"

namespace muster {
namespace {

using nlohmann::json;

std::string kind_key(std::string_view api_version, std::string_view kind) {
  return std::string(api_version) + "/" + std::string(kind);
}

std::string object_key(const json& object) {
  return std::string(string_at(object, {"metadata", "namespace"})) + "/" +
         std::string(string_at(object, {"metadata", "name"}));
}

// "mutatingwebhookconfigurations/muster"
std::string write_target(const json& object) {
  const std::string_view kind = string_at(object, {"kind"});
  const std::string_view name = string_at(object, {"metadata", "name"});
  if (kind == "MutatingWebhookConfiguration") return "mutatingwebhookconfigurations/" + std::string(name);
  if (kind == "ValidatingWebhookConfiguration") return "validatingwebhookconfigurations/" + std::string(name);
  return "";
}

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;  // clang 14 does not deduce it

}  // namespace

Engine::Engine(EngineSettings settings) : settings_(std::move(settings)), expected_kinds_(watched_kinds().size()) {
  if (!settings_.keep_webhook_configurations) return;
  for (const char* resource : {"mutatingwebhookconfigurations/", "validatingwebhookconfigurations/"}) {
    targets_[resource + std::string(kWebhookConfigurationName)];
  }
}

void Engine::apply(const Event& event, Now) {
  std::visit(Overloaded{
                 [&](const KindListed& list) { replace(list); },
                 [&](const KindAbsent& absent) {
                   replace({absent.api_version, absent.kind, {}});
                 },
                 [&](const ObjectChanged& changed) { put(changed.object); },
                 [&](const ObjectRemoved& removed) { remove(removed.object); },
                 [&](const CaBundleIssued& issued) { ca_bundle_ = issued.pem; },
                 [&](const WriteFinished& finished) {
                   if (auto target = targets_.find(finished.target); target != targets_.end()) {
                     target->second.writing = false;
                   }
                 },
                 [](const Tick&) {},
             },
             event);
}

Commands Engine::plan(Now now) {
  next_tick_.reset();
  Commands commands;
  // A bundle-less configuration would make the API server refuse every call, and
  // one made from half a view would drop entries: wait for both.
  if (!ca_bundle_ || !synced()) return commands;
  for (auto& [name, target] : targets_) {
    if (target.live.is_null() || target.writing) continue;
    auto patch = reconcile_webhook_configuration(target.live, view_, settings_.webhooks, *ca_bundle_);
    if (!patch) continue;
    const bool too_early = target.last_write && now.monotonic - *target.last_write < settings_.write_interval;
    if (too_early) {
      const MonotonicTime due = *target.last_write + settings_.write_interval;
      next_tick_ = next_tick_ ? std::min(*next_tick_, due) : due;
      continue;
    }
    target.writing = true;
    target.last_write = now.monotonic;
    commands.push_back({name, std::move(*patch)});
  }
  return commands;
}

// A configuration that somebody else has written is no reason to write over a bundle
// of theirs: ask for ours again first.
void Engine::put_target(const json& object, json live) {
  auto found = targets_.find(write_target(object));
  if (found == targets_.end()) return;
  found->second.live = std::move(live);
  if (!ca_bundle_ || ca_bundle_->empty()) return;
  for (const std::string& bundle : live_bundles()) {
    if (!bundle.empty() && bundle != *ca_bundle_) return ca_bundle_.reset();
  }
}

std::vector<std::string> Engine::live_bundles() const {
  std::set<std::string> bundles;
  for (const auto& [name, target] : targets_) {
    for (std::string& bundle : ca_bundles_of(target.live)) bundles.insert(std::move(bundle));
  }
  return {bundles.begin(), bundles.end()};
}

void Engine::put(const json& object) {
  if (!write_target(object).empty()) return put_target(object, object);
  known_[kind_key(string_at(object, {"apiVersion"}), string_at(object, {"kind"}))].insert(object_key(object));
  view_.put(object);
}

void Engine::remove(const json& object) {
  if (!write_target(object).empty()) return put_target(object, nullptr);
  const std::string_view api_version = string_at(object, {"apiVersion"}), kind = string_at(object, {"kind"});
  known_[kind_key(api_version, kind)].erase(object_key(object));
  view_.remove(api_version, kind, string_at(object, {"metadata", "namespace"}),
               string_at(object, {"metadata", "name"}));
}

void Engine::replace(const KindListed& list) {
  for (auto& [name, target] : targets_) {
    if (string_at(target.live, {"kind"}) == list.kind) target.live = nullptr;
  }
  const std::string key = kind_key(list.api_version, list.kind);
  std::set<std::string> gone = known_[key];
  for (const json& object : list.objects) {
    gone.erase(object_key(object));
    put(object);
  }
  for (const std::string& name : gone) {
    const size_t slash = name.find('/');
    view_.remove(list.api_version, list.kind, name.substr(0, slash), name.substr(slash + 1));
    known_[key].erase(name);
  }
  const auto kinds = watched_kinds();
  const bool counts = std::any_of(kinds.begin(), kinds.end(), [&](const WatchedKind& kind) {
    return kind.api_version == list.api_version && kind.kind == list.kind;
  });
  if (counts) synced_kinds_.insert(key);
}

}  // namespace muster
