#include "reconcilers/start/start_contributions.h"

#include "reconcilers/start/start_contribution.h"

namespace muster::reconcilers {

extern const StartContribution flavors_contribution;
extern const StartContribution identity_contribution;
extern const StartContribution check_updates_contribution;

StartContributions all_start_contributions() {
  static const StartContribution* const kTable[] = {
      &flavors_contribution,
      &identity_contribution,
      &check_updates_contribution,
  };
  return kTable;
}

}  // namespace muster::reconcilers
