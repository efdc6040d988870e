// The user of an aggregated API: the API server's aggregation layer forwards a request with its own client certificate,
// and names the user in headers. Pure.
//
// Every client on the network can send such headers, so they are read only beside a certificate that the authority of
// requestheader-client-ca-file has signed and that has one of the allowed names. Which authority, names and headers
// those are is in ConfigMap kube-system/extension-apiserver-authentication, which the API server keeps.
//
// Source: Kubernetes, "Configure the Aggregation Layer"; request header authentication of k8s.io/apiserver.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/authenticated_user.h"
#include "base/result.h"
#include "server/transport/client_certificates.h"
#include "server/transport/http.h"

namespace muster::server {

inline constexpr std::string_view kAuthenticationNamespace = "kube-system";
inline constexpr std::string_view kAuthenticationConfigMap = "extension-apiserver-authentication";

// What the ConfigMap says. Names of headers are compared without regard to case.
struct RequestHeaderSettings {
  std::string client_ca;                   // PEM; of the aggregation layer's own certificate
  std::vector<std::string> allowed_names;  // common names; empty: every name
  std::vector<std::string> username_headers, uid_headers, group_headers, extra_prefixes;

  bool operator==(const RequestHeaderSettings&) const = default;
};

// `config_map` is the object. An error where the API server has no aggregation layer, and where a list is no JSON list
// of strings: then no request is answered.
Result<RequestHeaderSettings> read_request_header_settings(const nlohmann::json& config_map);

// One state of the ConfigMap, with its authorities ready to judge. Immutable.
struct FrontProxy {
  RequestHeaderSettings settings;
  std::shared_ptr<const ClientAuthorities> authorities;
};

// The user in whose name the aggregation layer asks, or a sentence that says why there is none. A header of a
// user name or uid that is sent twice is refused; groups and extras can be many.
Result<AuthenticatedUser> authenticate(const PeerCertificate& peer, std::span<const HttpHeader> headers,
                                       const RequestHeaderSettings& settings);

}  // namespace muster::server
