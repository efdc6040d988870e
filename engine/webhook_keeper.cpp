#include "engine/webhook_keeper.h"

#include <algorithm>
#include <set>

#include "manifests/names.h"

namespace muster {

WebhookKeeper::WebhookKeeper(WebhookRegistration registration, bool active, Duration write_interval)
    : registration_(std::move(registration)), write_interval_(write_interval) {
  if (!active) return;
  for (const ResourceType* type : {&kMutatingWebhookConfigurations, &kValidatingWebhookConfigurations}) {
    targets_[{type, "", std::string(kWebhookConfigurationName)}];
  }
}

bool WebhookKeeper::is_configuration(const ResourceType& type) {
  return type.group == kMutatingWebhookConfigurations.group;
}

void WebhookKeeper::put(const PlainObject& configuration) {
  set_live({configuration.type, "", configuration.meta.name}, configuration.object);
}

void WebhookKeeper::remove(const ObjectKey& key) {
  set_live(key, nullptr);
}

void WebhookKeeper::relist(const ResourceType& type, const std::vector<TypedObject>& objects) {
  for (auto& [key, target] : targets_) {
    if (key.type->plural == type.plural) target.live = nullptr;
  }
  changed_ = true;
  read_live_bundles();
  for (const TypedObject& object : objects) put(std::get<PlainObject>(object));
}

// A configuration that somebody else has written is no reason to write over a bundle
// of theirs: ask for ours again first.
void WebhookKeeper::set_live(const ObjectKey& key, std::shared_ptr<const nlohmann::json> live) {
  const auto found = targets_.find(key);
  if (found == targets_.end()) return;
  found->second.live = std::move(live);
  changed_ = true;
  read_live_bundles();
  if (!ca_bundle_ || ca_bundle_->empty()) return;
  for (const std::string& bundle : live_bundles_) {
    if (!bundle.empty() && bundle != *ca_bundle_) return ca_bundle_.reset();
  }
}

void WebhookKeeper::issue_bundle(const std::string& pem) {
  ca_bundle_ = pem;
  changed_ = true;
}

void WebhookKeeper::write_finished(const ObjectKey& key) {
  changed_ = true;
  if (const auto target = targets_.find(key); target != targets_.end()) target->second.writing = false;
}

std::vector<Write> WebhookKeeper::plan(const ClusterView& view, Now now) {
  std::vector<std::string> namespaces = view.namespaces_with_default_queue();
  const bool ticked = next_tick_ && now.monotonic >= *next_tick_;
  if (!changed_ && !ticked && namespaces == seen_namespaces_) return {};
  changed_ = false;
  seen_namespaces_ = std::move(namespaces);
  next_tick_.reset();
  std::vector<Write> writes;
  // A bundle-less configuration would make the API server refuse every call.
  if (!ca_bundle_) return writes;
  for (auto& [key, target] : targets_) {
    if (!target.live || target.writing) continue;
    auto patch = reconcile_webhook_configuration(*target.live, view, registration_, *ca_bundle_);
    if (!patch) continue;
    if (target.last_write && now.monotonic - *target.last_write < write_interval_) {
      const MonotonicTime due = *target.last_write + write_interval_;
      next_tick_ = next_tick_ ? std::min(*next_tick_, due) : due;
      continue;
    }
    target.writing = true;
    target.last_write = now.monotonic;
    writes.push_back({.verb = Verb::kPatch, .target = key, .body = std::move(*patch)});
  }
  return writes;
}

void WebhookKeeper::read_live_bundles() {
  std::set<std::string> bundles;
  for (const auto& [key, target] : targets_) {
    if (!target.live) continue;
    for (std::string& bundle : ca_bundles_of(*target.live)) bundles.insert(std::move(bundle));
  }
  live_bundles_.assign(bundles.begin(), bundles.end());
}

}  // namespace muster
