#include "reconcilers/webhooks/webhook_config_reconciler.h"

#include <algorithm>
#include <set>

#include "api/codec/json.h"
#include "manifests/api_services.h"
#include "manifests/names.h"
#include "reconcilers/webhooks/api_service.h"
#include "reconcilers/webhooks/conversion_webhook.h"

namespace muster::reconcilers {
namespace {

bool is_definition(const ResourceType& type) {
  return type == kCustomResourceDefinitions;
}
bool is_api_service(const ResourceType& type) {
  return type == manifests::kApiServices;
}
// Without one of these the API server sends muster no job.
bool is_configuration(const ResourceType& type) {
  return type.group == kMutatingWebhookConfigurations.group;
}

std::vector<std::string> bundles_of(const ResourceType& type, const nlohmann::json& live) {
  if (is_definition(type)) return conversion_bundles_of(live);
  return is_api_service(type) ? api_service_bundles_of(live) : ca_bundles_of(live);
}

// The schemas are most of a definition, and not needed here.
std::shared_ptr<const nlohmann::json> essentials(const PlainObject& object) {
  if (!is_definition(*object.type)) return object.object;
  return std::make_shared<const nlohmann::json>(
      nlohmann::json{{"metadata", object_at(*object.object, {"metadata"})},
                     {"spec", {{"conversion", object_at(*object.object, {"spec", "conversion"})}}}});
}

}  // namespace

WebhookConfigReconciler::WebhookConfigReconciler(manifests::WebhookRegistration registration, bool active,
                                                 Duration write_interval)
    : registration_(std::move(registration)), write_interval_(write_interval) {
  if (!active) return;
  for (const ResourceType* type : {&kMutatingWebhookConfigurations, &kValidatingWebhookConfigurations}) {
    targets_[{type, "", std::string(manifests::kWebhookConfigurationName)}];
  }
  for (std::string_view name : manifests::kConvertedDefinitionNames) {
    targets_[{&kCustomResourceDefinitions, "", std::string(name)}];
  }
  if (registration_.visibility_port == 0) return;
  for (std::string_view name : manifests::kVisibilityApiServiceNames)
    targets_[{&manifests::kApiServices, "", std::string(name)}];
}

bool WebhookConfigReconciler::keeps(const ResourceType& type, std::string_view name) {
  if (is_configuration(type) || is_api_service(type)) return true;
  const auto& converted = manifests::kConvertedDefinitionNames;
  return is_definition(type) && std::find(converted.begin(), converted.end(), name) != converted.end();
}

void WebhookConfigReconciler::put(const PlainObject& object) {
  set_live({object.type, "", object.meta.name}, essentials(object));
}

void WebhookConfigReconciler::remove(const ObjectKey& key) {
  set_live(key, nullptr);
}

void WebhookConfigReconciler::relist(const ResourceType& type, std::string_view name,
                                     const std::vector<TypedObject>& objects) {
  for (auto& [key, target] : targets_) {
    if (*key.type == type && (name.empty() || key.name == name)) {
      target.live = nullptr;
      target.listed = true;
    }
  }
  changed_ = true;
  read_live_bundles();
  for (const TypedObject& object : objects) put(*std::get<PlainObjectPtr>(object));
}

// Another client can have written its own bundle into the configuration. muster asks for its own bundle again
// before it overwrites the other one.
void WebhookConfigReconciler::set_live(const ObjectKey& key, std::shared_ptr<const nlohmann::json> live) {
  const auto found = targets_.find(key);
  if (found == targets_.end()) return;
  found->second.live = std::move(live);
  changed_ = true;
  read_live_bundles();
  if (!ca_bundle_ || ca_bundle_->empty()) return;
  for (const std::string& bundle : live_bundles_) {
    if (bundle.empty() || bundle == *ca_bundle_) continue;
    ca_bundle_.reset();
    in_doubt_ = true;
    return;
  }
}

std::optional<std::vector<std::string>> WebhookConfigReconciler::take_seen_bundles() {
  if (live_bundles_ == told_bundles_ && !in_doubt_) return std::nullopt;
  in_doubt_ = false;
  return told_bundles_ = live_bundles_;
}

std::optional<std::vector<ObjectKey>> WebhookConfigReconciler::take_missing(MonotonicTime now) {
  std::vector<ObjectKey> missing;
  for (const auto& [key, target] : targets_) {
    if (target.listed && !target.live && is_configuration(*key.type)) missing.push_back(key);
  }
  const bool again = !missing.empty() && told_missing_at_ && now - *told_missing_at_ >= kTellAgain;
  if (missing == told_missing_ && !again) return std::nullopt;
  told_missing_at_ = now;
  return told_missing_ = std::move(missing);
}

void WebhookConfigReconciler::issue_bundle(const std::string& pem) {
  ca_bundle_ = pem;
  changed_ = true;
}

void WebhookConfigReconciler::write_finished(const ObjectKey& key) {
  changed_ = true;
  if (const auto target = targets_.find(key); target != targets_.end()) target->second.writing = false;
}

std::optional<nlohmann::json> WebhookConfigReconciler::patch_for(const ObjectKey& key, const nlohmann::json& live,
                                                                 const ClusterView* view) const {
  if (is_definition(*key.type)) return reconcile_conversion(live, registration_, *ca_bundle_);
  if (is_api_service(*key.type)) return reconcile_api_service(live, registration_, *ca_bundle_);
  // With only a part of the namespaces, muster would remove entries.
  if (view == nullptr) return std::nullopt;
  return reconcile_webhook_configuration(live, *view, registration_, *ca_bundle_);
}

std::vector<Write> WebhookConfigReconciler::plan(const ClusterView* view, Now now) {
  std::optional<std::vector<std::string>> namespaces;
  if (view != nullptr) namespaces = view->namespaces_with_default_queue();
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
    auto patch = patch_for(key, *target.live, view);
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

void WebhookConfigReconciler::read_live_bundles() {
  std::set<std::string> bundles;
  for (const auto& [key, target] : targets_) {
    if (!target.live) continue;
    for (std::string& bundle : bundles_of(*key.type, *target.live)) bundles.insert(std::move(bundle));
  }
  live_bundles_.assign(bundles.begin(), bundles.end());
}

}  // namespace muster::reconcilers
