#include "runtime/visibility/front_proxy_keeper.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "certs/authority.h"
#include "runtime/log.h"

namespace muster::runtime {
namespace {

using nlohmann::json;

kube::Selection the_config_map() {
  return {.ns = std::string(server::kAuthenticationNamespace),
          .field_selector = "metadata.name=" + std::string(server::kAuthenticationConfigMap)};
}

// Whether one certificate signs both the aggregation layer's and ordinary clients' certificates.
bool share_authority(const std::string& aggregation, const std::string& clients) {
  const auto first = certs::split_bundle(aggregation), second = certs::split_bundle(clients);
  if (!first || !second) return false;
  return std::any_of(first->begin(), first->end(), [&](const std::string& certificate) {
    return std::find(second->begin(), second->end(), certificate) != second->end();
  });
}

}  // namespace

Result<std::shared_ptr<const server::FrontProxy>> read_front_proxy(const json& config_map) {
  auto settings = server::read_request_header_settings(config_map);
  if (!settings) return fail(settings.error().message);
  const std::string clients(string_at(config_map, {"data", "client-ca-file"}));
  if (settings->allowed_names.empty() && share_authority(settings->client_ca, clients)) {
    return fail(
        "requestheader-client-ca-file has a certificate of client-ca-file and requestheader-allowed-names is empty, so "
        "that every client of the cluster could impersonate every user; give the aggregation layer a separate "
        "authority, or set --requestheader-allowed-names of kube-apiserver");
  }
  auto authorities = server::ClientAuthorities::parse(settings->client_ca, {});
  if (!authorities) return fail("requestheader-client-ca-file: " + authorities.error().message);
  return std::make_shared<const server::FrontProxy>(server::FrontProxy{std::move(*settings), std::move(*authorities)});
}

FrontProxyKeeper::FrontProxyKeeper(kube::KubeApi& api, const kube::Timing& timing)
    : watch_(api, kube::resource_of(kConfigMaps), the_config_map(), *this, *this, timing) {}

std::shared_ptr<const server::FrontProxy> FrontProxyKeeper::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

void FrontProxyKeeper::on_replaced(const std::string& /*version*/) {
  if (current() == nullptr && problem_.empty())
    log_warning(
        "the visibility API answers no request: the API server has no ConfigMap that describes its aggregation layer",
        {{"configMap",
          std::string(server::kAuthenticationNamespace) + "/" + std::string(server::kAuthenticationConfigMap)}});
}

void FrontProxyKeeper::on_event(kube::WatchChange change, const json& object) {
  if (change != kube::WatchChange::kDeleted) take(object);
}

void FrontProxyKeeper::forbidden(const kube::Resource& /*resource*/, const std::string& message) {
  log_error(
      "the visibility API answers no request: muster cannot read which certificate the API server has; apply the "
      "RoleBinding muster-authentication-reader of `muster manifests --only rbac --aggregated-visibility`",
      {{"why", message}});
}

void FrontProxyKeeper::take(const json& object) {
  auto read = read_front_proxy(object);
  if (!read && read.error().message != problem_) {
    log_error(
        "the visibility API answers no request: ConfigMap kube-system/extension-apiserver-authentication cannot be "
        "used",
        {{"why", read.error().message}});
  }
  problem_ = read ? "" : read.error().message;
  const MutexLock lock(mutex_);
  current_ = read ? std::move(*read) : nullptr;
}

}  // namespace muster::runtime
