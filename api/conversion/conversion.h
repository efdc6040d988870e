// Between kueue.x-k8s.io/v1beta1 and v1beta2, which are both served; v1beta2 is stored.
// LocalQueue, ClusterQueue, Cohort and Workload differ; the other kinds have the same
// fields in both, so that the API server converts them by itself.
//
// What comes out is what Kueue's own types would print: fields that they always print
// are filled in, empty optional ones are left out, quantities are in canonical form. A
// field that the other version does not have is lost, as with Kueue; one that neither version knows
// stays, and the API server prunes it. Two things go beyond Kueue's v1beta1. concurrentAdmissionPolicy
// stays in both directions: an object of v1beta1 is converted there and back for each webhook, and the
// policy must reach the one that refuses it. And flavorFallbackStrategy becomes fallbackStrategy; muster's
// other additions are the same in both.
//
// Pure, and in place: nothing of a pod template is copied.
// Source: Kueue apis/kueue/v1beta1, *_conversion.go.
#pragma once

#include <cstddef>
#include <limits>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace muster {

enum class QueueVersion { kV1Beta1, kV1Beta2 };

// "kueue.x-k8s.io/v1beta1" or "kueue.x-k8s.io/v1beta2".
Result<QueueVersion> parse_queue_version(std::string_view api_version);

// What a conversion can still use. A list of domains takes much more room than the slices that
// stand for it, and is counted before it is made.
struct ConversionBudget {
  size_t tree_bytes = std::numeric_limits<size_t>::max();
  size_t text_bytes = std::numeric_limits<size_t>::max();

  // False, and nothing is taken, when there is not enough.
  bool take(size_t tree, size_t text) {
    if (tree > tree_bytes || text > text_bytes) return false;
    tree_bytes -= tree;
    text_bytes -= text;
    return true;
  }
};

// Makes `object` one of version `to`; one that is so already stays as it is. Fails on a
// kind or version that is not converted here and on a shape that cannot be read, and
// `object` can then be half converted. Metadata is never touched.
Outcome<> convert_object(nlohmann::json& object, QueueVersion to, ConversionBudget budget = {});

}  // namespace muster
