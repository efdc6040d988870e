// One answer about one object: from muster, or, where it cannot be asked, from what the person may list.
#pragma once

#include "api/explained.h"
#include "api/meta/resource_type.h"
#include "base/result.h"
#include "commands/kubectl/reader.h"

namespace muster::commands {

// `local`: muster is not asked. The answer's notes say where it comes from.
Result<ExplainReply> fetch_explanation(MusterReader& reader, const ObjectKey& key, bool local);

}  // namespace muster::commands
