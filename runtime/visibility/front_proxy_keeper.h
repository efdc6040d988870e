// By which certificate, and which headers, the API server's aggregation layer is to be believed: follows ConfigMap
// kube-system/extension-apiserver-authentication, which the API server keeps.
//
// What cannot be used is believed less, not more: with a ConfigMap that is damaged, or that would take every client of
// the cluster for the API server, no request is answered until it is changed, and the log says why. A ConfigMap that is
// deleted changes nothing: the API server makes it again.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "kube/watch.h"
#include "server/request_header.h"

namespace muster::runtime {

// From the ConfigMap's object. An error where requestheader-client-ca-file has a certificate that signs ordinary
// clients too (client-ca-file) and every name is allowed: then each user with a certificate could name themselves as
// they like.
Result<std::shared_ptr<const server::FrontProxy>> read_front_proxy(const nlohmann::json& config_map);

// Thread-safe. A separate watch: neither readiness nor the engine depends on it.
class FrontProxyKeeper final : kube::WatchSink, kube::KubeObserver {
 public:
  // Starts its thread. `api` and what `timing` refers to must outlive it.
  FrontProxyKeeper(kube::KubeApi& api, const kube::Timing& timing);

  // null: not read yet, or of no use.
  std::shared_ptr<const server::FrontProxy> current() const EXCLUDES(mutex_);

 private:
  void on_list_started() override {}
  void on_listed(const nlohmann::json& object) override { take(object); }
  void on_replaced(const std::string& version) override;
  void on_absent() override {}
  void on_caught_up(uint64_t) override {}
  void on_event(kube::WatchChange change, const nlohmann::json& object) override;
  void forbidden(const kube::Resource& resource, const std::string& message) override;
  void take(const nlohmann::json& object) EXCLUDES(mutex_);

  mutable Mutex mutex_;
  std::shared_ptr<const server::FrontProxy> current_ GUARDED_BY(mutex_);
  std::string problem_;  // the last that was logged; of the watch's thread
  kube::Watch watch_;    // last, so that it ends first
};

}  // namespace muster::runtime
