// What the aggregated visibility API asks of muster's other parts.
#pragma once

#include <functional>
#include <memory>

#include "kube/authorizer.h"
#include "runtime/visibility/front_proxy_keeper.h"
#include "server/visibility_route.h"

namespace muster::runtime {

// `authorizer` and `front_proxy` must outlive it. `snapshot` is the one that all readers share.
server::VisibilityApi make_visibility_api(kube::Authorizer& authorizer, const FrontProxyKeeper& front_proxy,
                                          std::function<std::shared_ptr<const explain::QueueSnapshot>()> snapshot);

}  // namespace muster::runtime
