// What users can name to muster: one table for explain, history, priority, the links of the page, shell completion,
// bare names and help texts. It is made of the kinds that muster queues (jobs/job_kind.h), the kind Workload, and the
// kinds that only make such objects, as CronJob.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/meta/resource_type.h"
#include "jobs/job_kind.h"

namespace muster::jobs {

struct NamedKind {
  // Lives as long as the process. The kind of the API server: of a pod kPods.
  const ResourceType* type;
  // nullptr: Workload, or a kind that is not queued by itself.
  const JobKind* job = nullptr;
  // How much muster knows of such objects.
  enum class Known {
    kAll,          // each object, where its integration is enabled
    kOnlyInQueue,  // those that its webhook has put into a queue
    kNone          // none: the object itself tells which objects it makes
  };
  Known known = Known::kAll;
  std::string_view short_name{};  // as kubectl has it; empty: none, or not known

  // "job".
  std::string singular() const;
};

// In the order in which a name without a kind is looked for: first Job, JobSet and Workload.
std::vector<NamedKind> named_kinds();
// Of "job", "jobs", "Job", "jobs.batch" or "jobs.v1.batch", in any case of letters, and of short names as "po".
std::optional<NamedKind> find_named_kind(std::string_view word);
std::optional<NamedKind> find_named_kind(const ResourceType& type);

// "Job.batch", "Pod.": kind and group of each, for the page, which leads to no object that cannot be asked for.
std::vector<std::string> named_kinds_with_groups();
// What `find_named_kind` takes, for messages and completion: "job", "jobset", ...
std::vector<std::string> named_kind_words();
// That there is no such kind, with the nearest one.
std::string no_such_kind(std::string_view word);

}  // namespace muster::jobs
