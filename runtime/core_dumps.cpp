#include "runtime/core_dumps.h"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace muster {

// The limit is for files; a handler that takes dumps through a pipe is given none for the other
// reason. Neither can fail for want of rights: both only take something away.
void refuse_core_dumps() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  prctl(PR_SET_DUMPABLE, 0);
}

}  // namespace muster
