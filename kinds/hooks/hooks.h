// The hooks there are; kinds/kind_hook.cpp lists them.
#pragma once

#include "kinds/kind_hook.h"

namespace muster {

extern const KindHook appwrapper_hook;
extern const KindHook ray_hook;
extern const KindHook spark_hook;
extern const KindHook trainjob_hook;

// Pods that an AppWrapper makes and does not count among its declared pod sets.
FieldErrors uncounted_pods(const nlohmann::json& appwrapper);

}  // namespace muster
