// A pod of a group of one.
#pragma once

#include <nlohmann/json.hpp>

#include "test/reconcilers/job/job_cluster.h"

namespace muster::test {

inline nlohmann::json group_member() {
  return {{"metadata",
           {{"name", "a"},
            {"uid", "a-uid"},
            {"labels",
             {{"kueue.x-k8s.io/managed", "true"},
              {"kueue.x-k8s.io/queue-name", "q"},
              {"kueue.x-k8s.io/pod-group-name", "group"}}},
            {"annotations", {{"kueue.x-k8s.io/pod-group-total-count", "1"}}}}},
          {"spec", pod_template_of({{"cpu", "1"}})["spec"]}};
}

}  // namespace muster::test
