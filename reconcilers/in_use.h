// The finalizer that keeps objects while something uses them.
#pragma once

#include "api/meta/object_meta.h"
#include "reconcilers/command.h"

namespace muster::reconcilers {

// Plans the removal of the finalizer, with these events; nothing when the object does not have
// it.
void drop_in_use_finalizer(const ResourceType& type, const ObjectMeta& meta, Plan& plan,
                           std::vector<ObjectEvent> events = {});
// Deletes the object that was read, with these events, and takes the finalizer off once that is done: never an object
// without it that lives on.
void delete_in_use(const ResourceType& type, const ObjectMeta& meta, Plan& plan, std::vector<ObjectEvent> events = {});
// An object that others can name carries the finalizer while it lives, and loses it when
// it is being deleted and is not used (any more). The webhook adds it on creation; this
// is for those that were made without.
void keep_in_use_finalizer(const ResourceType& type, const ObjectMeta& meta, bool used, Plan& plan);

}  // namespace muster::reconcilers
