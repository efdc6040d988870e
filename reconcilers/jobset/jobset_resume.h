// How a suspended Job of a JobSet comes to run with what the JobSet's template says now, also when an earlier admission
// gave the JobSet another flavor. Values in, JSON out; pure.
//
// JobSet's own controller only adds to the Job (kubernetes-sigs/jobset#1294): there a Job keeps the node selector of
// each flavor that it ever had.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "api/job.h"
#include "api/jobset.h"

namespace muster::reconcilers {

// On a Job: what its pod template got from the JobSet's, so that it goes again with the flavor.
inline constexpr std::string_view kAppliedTemplateAnnotation = "muster.batch/applied-template";

// Whether the Jobs record it. Templates of such a JobSet can have what an admission has added and the next one takes
// away.
bool records_templates(const JobSet& jobset);

// The record: what the template asks of the pods and an admission can change. Names of labels, annotations and node
// selectors, and whole tolerations and scheduling gates. Empty if there is nothing, or more than 4 KiB: an object's
// annotations have a limit.
std::string applied_template(const nlohmann::json& pod_template);

// On a Job, with JobSet's gate MutablePodResourcesForSuspendedJobSets: a hash of what its containers were to have. A
// Job that was to have other resources than the template says now is made again when it is resumed, since Kubernetes
// changes them in a Job behind an alpha gate alone.
inline constexpr std::string_view kAppliedResourcesAnnotation = "muster.batch/applied-resources";
std::string applied_resources(const nlohmann::json& pod_template);

// The merge patch that lets the Job run. Its pod template gets labels, annotations, node selector, tolerations and
// scheduling gates of the JobSet's template. What an earlier template gave it and this one has not is taken away; what
// others have added stays. Kubernetes refuses it while the Job has a startTime.
// `records`: the Job is to say what it has been given.
nlohmann::json resume_patch(const Job& job, const ReplicatedJob& replicated, bool records);

}  // namespace muster::reconcilers
