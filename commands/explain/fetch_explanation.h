// One answer about one object: from muster, or, where it cannot be asked, from what the person can list.
#pragma once

#include <string>
#include <vector>

#include "api/explained.h"
#include "base/result.h"
#include "commands/kubectl/reader.h"
#include "kinds/typed_object.h"

namespace muster::commands {

// `local`: muster is not asked. The answer's notes say where it comes from. An object of which muster knows nothing is
// read with the person's own rights. A Workload can be named by the name of its job.
Result<ExplainReply> fetch_explanation(MusterReader& reader, const ObjectKey& key, bool local);

// What a name without a kind can mean, the most likely first: the first kind of jobs/naming/named_kind.h that has such
// an object which the person can get. An object that is part of another one comes after one that is not: the submitter
// Job of a RayJob has its name. If there is none, a Job, a JobSet or a Workload that was deleted, or that the person
// cannot get.
std::vector<ObjectKey> find_kinds_of(kube::KubeApi& api, const std::string& ns, const std::string& name);

}  // namespace muster::commands
