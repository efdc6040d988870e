// The socket under OpenSSL, from which one call can read only a few times.
//
// OpenSSL continues to read while records have no data for its caller: key updates, requests to
// renegotiate, empty records. A client that sends such records without end would keep a worker busy. So a
// call gets bytes only a few times; then OpenSSL gets "no more data", and the caller can see the
// difference.
#pragma once

#include <openssl/bio.h>

namespace muster::server {

// What one socket can still give to the call that is under way.
struct ReadMeter {
  int fd = -1;
  int reads_left = 0;
  bool held_back = false;  // the call ended because of the meter, so that there can be more

  void begin_call(int reads) {
    reads_left = reads;
    held_back = false;
  }
};

// A BIO over `meter`, which outlives it, as does the socket; nullptr when memory runs out.
BIO* new_metered_bio(ReadMeter& meter);

}  // namespace muster::server
