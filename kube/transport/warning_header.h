// The Warning header of HTTP, in which the API server says what it does not like about a request that
// it takes: 299 - "spec.template.spec.nodeSelectr: unknown field". Source: RFC 7234, 5.5; Kubernetes
// KEP-1693.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace muster::kube {

// The texts of one header's value, which can hold several warnings. What has another form is left
// out; so is what has another code than 299 ("miscellaneous, persistent"), the only one of Kubernetes.
std::vector<std::string> parse_warnings(std::string_view value);

}  // namespace muster::kube
