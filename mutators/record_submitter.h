// Writes who submits a job into muster.batch/submitter (api/meta/submitter.h), where recordSubmitter asks for it: the
// user of the create, or of the update that puts the job into a queue. Whatever else stands there is taken away at the
// create, and an update changes nothing, whoever sends it, so that the annotation is true or absent.
//
// A job that a controller creates for a user, such as a CronJob's, has the name of the controller. Runs after
// default_local_queue, which makes jobs queued.
#pragma once

#include "mutators/mutator.h"

namespace muster::mutators {
extern const Mutator record_submitter;
}  // namespace muster::mutators
