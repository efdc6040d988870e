#include "runtime/certificates/webhook_certificates.h"

#include "certs/directory_store.h"
#include "manifests/names.h"
#include "runtime/certificates/secret_store.h"

namespace muster::runtime {
namespace {

// "10.0.0.5" of "https://10.0.0.5:9443/x"; empty if the URL has no host.
std::string host_of(std::string_view url) {
  if (auto scheme = url.find("://"); scheme != std::string_view::npos) url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find('/'));
  if (url.starts_with('[')) return std::string(url.substr(1, url.find(']') - 1));
  return std::string(url.substr(0, url.find(':')));
}

// The Services' names, and the names by which a webhook URL or a client on this machine reaches muster.
certs::ServingNames serving_names(const Configuration& kueue, const WebhookCertificates::Options& options) {
  certs::ServingNames names = certs::service_names(kueue.cert_management.webhook_service_name, options.own_namespace);
  for (std::string& name : certs::service_names(manifests::kConversionServiceName, options.own_namespace).dns)
    names.dns.push_back(std::move(name));
  for (const std::string& host : {std::string("127.0.0.1"), std::string("localhost"), host_of(options.url)}) {
    const bool address =
        host.find(':') != std::string::npos || host.find_first_not_of("0123456789.") == std::string::npos;
    if (!host.empty()) (address ? names.ips : names.dns).push_back(host);
  }
  return certs::canonical(std::move(names));
}

// A Secret in muster's namespace if muster has a cluster and no directory is set.
std::unique_ptr<certs::CertificateStore> store_of(const Configuration& kueue,
                                                  const WebhookCertificates::Options& options,
                                                  const std::stop_token& stop) {
  if (options.api == nullptr || options.directory)
    return std::make_unique<certs::DirectoryStore>(options.directory.value_or(kueue.webhook.cert_dir));
  return std::make_unique<SecretStore>(*options.api, options.own_namespace, kueue.cert_management.webhook_secret_name,
                                       stop);
}

}  // namespace

WebhookCertificates::WebhookCertificates(const Configuration& kueue, const Options& options, const Clock& clock,
                                         Callbacks callbacks, const std::stop_token& stop)
    : callbacks_(std::move(callbacks)) {
  if (!kueue.cert_management.enable) {
    external_ = std::make_unique<ExternalCertificates>(options.directory.value_or(kueue.webhook.cert_dir), clock,
                                                       [this](const certs::ServingCertificate& certificate) {
                                                         callbacks_.serve(certificate);
                                                         callbacks_.issue(certificate.bundle);
                                                       });
    return;
  }
  certs::CertificateSettings settings;
  settings.names = serving_names(kueue, options);
  settings.lifetimes.leaf = options.leaf_lifetime;
  settings.lifetimes.authority = 4 * settings.lifetimes.leaf;
  settings.assume_injected = options.api == nullptr || !options.keeps_configurations;
  keeper_ = std::make_unique<CertificateKeeper>(store_of(kueue, options, stop), std::move(settings), clock,
                                                CertificateKeeper::Callbacks{callbacks_.serve, callbacks_.issue});
}

void WebhookCertificates::bundles_seen(std::vector<std::string> bundles) {
  if (keeper_)
    keeper_->bundles_seen(std::move(bundles));
  else
    callbacks_.issue(external_->bundle());
}

}  // namespace muster::runtime
