// What the statuses of ClusterQueues and LocalQueues have in common.
#pragma once

#include "api/cluster_queue.h"
#include "reconcilers/command.h"
#include "state/queue_counts.h"

namespace muster::reconcilers {

// Every flavor and resource of the queue in its order, what is not used as 0. What goes
// beyond the nominal quota is borrowed, where there is a Cohort to borrow from.
std::vector<FlavorUsage> usage_of(const ClusterQueue& queue, const state::FlavorAmounts& amounts, bool shows_borrowed);
// Everything but `pending` and the conditions.
void show_counts(QueueStatus& status, const ClusterQueue& queue, const state::QueueCounts& counts, bool shows_borrowed);
void set_active(QueueStatus& status, const ObjectMeta& meta, bool active, std::string_view reason,
                std::string_view message, Now now);
// Nothing when nothing has changed.
void write_queue_status(const ResourceType& type, const ObjectMeta& meta, const QueueStatus& before,
                        const QueueStatus& status, Plan& plan);

}  // namespace muster::reconcilers
