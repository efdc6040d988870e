// The matchConditions of webhook entries: CEL that the API server evaluates before it calls,
// so that what no rule would look at costs no call. `oldObject` is null on CREATE, and
// DELETE is not registered, so that `object` is always there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace muster::manifests::match_conditions {

nlohmann::json not_being_deleted();

// Objects that are not being deleted, and those that are if more changes than their deletion needs, as
// is_step_of_deletion() (api/review/deletion.h) says: finalizers can be removed while muster is away, and data and spec
// are as little free as before.
nlohmann::json more_than_its_deletion();

// Objects that carry keys of kueue.x-k8s.io or muster.batch, before or after; and the others.
// Of a JobSet also those whose pod templates have a start barrier: the field that asked for it
// is lost when JobSet's CRD is reinstalled, and a resume without a new epoch would pass it.
nlohmann::json queued_or_gang();
nlohmann::json not_sent_by_another_entry();

// Objects of kinds that are not queued (kinds/unqueued_kinds.h): those that carry such a key, or the
// label with the queue's name in their pod template, and did not before; and those without a
// controller.
nlohmann::json first_asks_for_queue();
nlohmann::json without_controller();

// Jobs whose controller is a JobSet, before or after; and of their updates those that change
// the spec or the owners.
nlohmann::json of_a_jobset();
nlohmann::json more_than_metadata();

// All but what this user sends.
nlohmann::json not_by(const std::string& name, const std::string& user);

// Pods whose parent puts them into a queue (annotation kueue.x-k8s.io/pod-suspending-parent).
nlohmann::json suspended_by_parent();

// Pods are members of gangs only where the Job controller made them (validators/gang/gang_pods.cpp);
// it is not asked about those.
nlohmann::json not_by_the_job_controller();
// ConfigMaps that a start barrier can wait for (validators/gang/gang_config_maps.cpp).
nlohmann::json named_as_of_a_gang();

// muster's own writes follow the rules by construction.
nlohmann::json not_by_muster(const std::string& own_namespace);

nlohmann::json by_muster(const std::string& own_namespace);
// The same of what muster changes in jobs: it starts and stops them. A job that starts as a group is
// sent all the same, since its barrier is checked and made whole in passing.
nlohmann::json not_started_by_muster(const std::string& own_namespace);

nlohmann::json with_managed_fields();

// Workloads of which fewer pods than asked for can run: all that a mutator edits.
nlohmann::json with_min_count();
// An object that says something of protection from preemption (api/preemption_protection.h) that it has not said
// before. Of a LocalQueue the same, or it has a share among others, and had not the same one before.
nlohmann::json with_protection();
nlohmann::json with_share_or_protection();

// A pod that can be part of what is queued: it is labelled so, or its controller is none of those whose pods are queued
// by label only.
nlohmann::json of_a_queue_or_job();

// All but writes to a Workload's status that change its conditions alone, such as that of its
// end: what a condition can say is in the CRD. Except that one which reserves quota must
// come with an admission, which is a rule's business.
nlohmann::json more_than_conditions();

}  // namespace muster::manifests::match_conditions
