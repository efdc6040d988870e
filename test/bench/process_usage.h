// What another process has used so far, from /proc.
#pragma once

#include <sys/types.h>

#include <chrono>

namespace muster::bench {

// CPU time of all its threads, to the nanosecond.
std::chrono::nanoseconds cpu_time(pid_t pid);
// Resident memory now.
double resident_mib(pid_t pid);

// A child process that prints a port number as its first line; ended with its owner.
class PortedChild {
 public:
  // `program` stands beside the running executable.
  explicit PortedChild(const char* program);
  ~PortedChild();
  PortedChild(const PortedChild&) = delete;
  PortedChild& operator=(const PortedChild&) = delete;

  pid_t pid() const { return pid_; }
  // 0 when it did not start.
  int port() const { return port_; }

 private:
  pid_t pid_ = -1;
  int port_ = 0;
};

}  // namespace muster::bench
