#include "state/demand/demand_sources.h"

#include "state/demand/demand_source.h"

namespace muster::state {

extern const DemandSource device_claims_source;
extern const DemandSource runtime_class_source;
extern const DemandSource pod_template_source;
extern const DemandSource limit_range_source;

DemandSources all_demand_sources() {
  static const DemandSource* const kTable[] = {
      &device_claims_source,
      &runtime_class_source,
      &pod_template_source,
      &limit_range_source,
  };
  return kTable;
}

}  // namespace muster::state
