#include "runtime/visibility/visibility_service.h"

#include <string>
#include <utility>

namespace muster::runtime {

server::VisibilityApi make_visibility_api(kube::Authorizer& authorizer, const FrontProxyKeeper& front_proxy,
                                          std::function<std::shared_ptr<const explain::QueueSnapshot>()> snapshot) {
  const auto authorize = [&authorizer](const AuthenticatedUser& user, const server::ListAccess& access) {
    const auto decision = authorizer.decide(user, {.verb = access.verb,
                                                   .group = std::string(access.type->group),
                                                   .resource = std::string(access.type->plural),
                                                   .ns = access.ns,
                                                   .name = access.name,
                                                   .subresource = access.subresource});
    if (!decision) return server::AuthDecision::kUnavailable;
    return *decision == kube::AccessDecision::kAllow ? server::AuthDecision::kAllowed
                                                     : server::AuthDecision::kForbidden;
  };
  return {.front_proxy = [&front_proxy] { return front_proxy.current(); },
          .authorize = authorize,
          .snapshot = std::move(snapshot)};
}

}  // namespace muster::runtime
