#include "runtime/core_dumps.h"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace muster::runtime {

// The limit applies to dump files. A handler that gets dumps through a pipe gets none from a process that is
// not dumpable. Both calls only remove permissions, so neither can fail for missing rights.
void refuse_core_dumps() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace muster::runtime
