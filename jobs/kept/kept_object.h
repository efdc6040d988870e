// What muster keeps of a watched object. Any user can create thousands of objects in no queue, each as large as the API
// server takes, and muster must know all of them. So it keeps little of each.
//
// - An object that is in a queue by itself, and a JobSet whose Jobs muster makes: whole.
// - A job with another job as its controller is compared with the quota of that job: what its pods request, at most
//   16 KiB. A larger one cannot be compared, and does not run below a queued job.
// - Every other object: what rules ask about it, some hundred bytes. That is metadata with the keys of muster, Kueue
//   and JobSet, the suspension, the status, and of a gang its barrier; of a gang's ConfigMap the keys of the decisions.
//
// When an object gets a queue, its watch sends the whole object again. Settings do not change while the process runs.
// The labels of a namespace can change, so objects that only these labels keep out of the queues are whole.
//
// Pure.
#pragma once

#include "api/config/reconciler_settings.h"
#include "kinds/typed_object.h"

namespace muster::jobs {

// Of a part of another job, and of what names it.
inline constexpr size_t kMostBytesOfAPart = size_t{16} * 1024;

// The object as muster keeps it; the same object where nothing is left out.
TypedObject kept_of(const TypedObject& object, const ReconcilerSettings& settings);

}  // namespace muster::jobs
