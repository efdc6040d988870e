// The users of Kubernetes' Job controller when it creates pods: with a service account for each controller
// (--use-service-account-credentials), and without.
#pragma once

#include <array>
#include <string_view>

namespace muster::jobs {

inline constexpr std::array<std::string_view, 2> kJobControllerUsers = {
    "system:serviceaccount:kube-system:job-controller", "system:kube-controller-manager"};

}  // namespace muster::jobs
