#include "api/conversion/conversion.h"

#include <array>
#include <nlohmann/json.hpp>

#include "api/codec/json.h"
#include "api/conversion/conversion_fields.h"

namespace muster {
namespace {

using conversion::Fields;
using nlohmann::json;

constexpr std::string_view kV1Beta1 = "kueue.x-k8s.io/v1beta1";
constexpr std::string_view kV1Beta2 = "kueue.x-k8s.io/v1beta2";

struct KindConversion {
  std::string_view kind;
  Outcome<> (*convert)(Fields& spec, Fields& status, QueueVersion to, ConversionBudget& budget);
};
// Objects of the other kinds do not grow.
template <Outcome<> (*convert)(Fields&, Fields&, QueueVersion)>
Outcome<> without_budget(Fields& spec, Fields& status, QueueVersion to, ConversionBudget&) {
  return convert(spec, status, to);
}
constexpr std::array kConversions = {
    KindConversion{"Workload", conversion::convert_workload},
    KindConversion{"LocalQueue", without_budget<conversion::convert_local_queue>},
    KindConversion{"ClusterQueue", without_budget<conversion::convert_cluster_queue>},
    KindConversion{"Cohort", without_budget<conversion::convert_cohort>},
};

}  // namespace

Result<QueueVersion> parse_queue_version(std::string_view api_version) {
  if (api_version == kV1Beta1) return QueueVersion::kV1Beta1;
  if (api_version == kV1Beta2) return QueueVersion::kV1Beta2;
  return fail("\"" + std::string(api_version) + "\" is no version that muster converts; it must be \"" +
              std::string(kV1Beta1) + "\" or \"" + std::string(kV1Beta2) + "\"");
}

Outcome<> convert_object(json& object, QueueVersion to, ConversionBudget budget) {
  auto* fields = object.get_ptr<Fields*>();
  if (fields == nullptr) return fail("it must be a JSON object");
  const auto from = parse_queue_version(string_at(object, {"apiVersion"}));
  if (!from) return fail("apiVersion: " + from.error().message);
  if (*from == to) return Done{};
  const std::string_view kind = string_at(object, {"kind"});
  for (const KindConversion& conversion : kConversions) {
    if (conversion.kind != kind) continue;
    Fields* spec = conversion::made_object(*fields, "spec");
    if (spec == nullptr) return fail("spec must be an object");
    Fields* status = conversion::made_object(*fields, "status");
    if (status == nullptr) return fail("status must be an object");
    if (auto converted = conversion.convert(*spec, *status, to, budget); !converted) return converted;
    (*fields)["apiVersion"] = to == QueueVersion::kV1Beta1 ? kV1Beta1 : kV1Beta2;
    return Done{};
  }
  return fail(
      "kind \"" + std::string(kind) +
      "\" is not converted here; only Workload, LocalQueue, ClusterQueue and Cohort are: the definition of this "
      "kind (CustomResourceDefinition) must have spec.conversion.strategy None");
}

}  // namespace muster
