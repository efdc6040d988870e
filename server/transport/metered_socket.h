// The socket under OpenSSL, from which one call may read only a few times.
//
// OpenSSL reads on by itself while what comes holds nothing for its caller: key updates,
// requests to renegotiate, empty records. Somebody who sends such records without end would
// keep a worker for as long. So a call gets bytes a few times; then OpenSSL is told to come
// again, as if nothing more had come, and whoever called learns the difference.
#pragma once

#include <openssl/bio.h>

namespace muster {

// What one socket may still give to the call that is under way.
struct ReadMeter {
  int fd = -1;
  int reads_left = 0;
  bool held_back = false;  // the call ended because of the meter, so that there may be more

  void begin_call(int reads) {
    reads_left = reads;
    held_back = false;
  }
};

// A BIO over `meter`, which outlives it, as does the socket; nullptr when memory runs out.
BIO* new_metered_bio(ReadMeter& meter);

}  // namespace muster
