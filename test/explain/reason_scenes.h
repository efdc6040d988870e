// Situations with one answer each, at least one for each reason that explain gives: for the tests of what it says, and
// for those of what readers with fewer rights get.
#pragma once

#include <vector>

#include "test/explain/explain_rows.h"

namespace muster::test {

using Scenes = std::vector<ExplainRow>;

Scenes unqueued_scenes();          // no business of the queues
Scenes scenes_without_workload();  // queued
Scenes scenes_kept_out();          // by the queues of a Workload
Scenes refused_scenes();           // by the scheduler
Scenes waiting_scenes();           // for quota and for others
Scenes scenes_with_quota();        // from reservation to the end
Scenes ended_scenes();             // evicted, deactivated, deleted
Scenes flavor_scenes();            // flavors were tried
Scenes scenes_of_pods();           // pods, their groups and their sets, gangs
Scenes scenes_of_kinds();          // what muster does not queue, read or watch
Scenes all_scenes();

}  // namespace muster::test
