// What decides whether pods fit on a Node: a value, a hundredth of the object.
// Source: k8s.io/api/core/v1.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "api/meta/selectors.h"
#include "api/requests.h"
#include "api/tolerations.h"

namespace muster {

struct Node {
  std::string name{};
  Labels labels{};
  std::vector<Taint> taints{};
  Requests allocatable{};  // as quota counts amounts
  bool ready = false;
  bool cordoned = false;

  bool takes_pods() const { return ready && !cordoned; }
  bool operator==(const Node&) const = default;
};
using NodePtr = std::shared_ptr<const Node>;

Node read_node(const nlohmann::json& object);

}  // namespace muster
