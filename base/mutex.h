// std::mutex with clang's thread-safety annotations, so that a field that is
// read without its lock is a compile error in ./check (clang -Wthread-safety).
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define MUSTER_ANNOTATE(x) __attribute__((x))
#else
#define MUSTER_ANNOTATE(x)
#endif
#define GUARDED_BY(x) MUSTER_ANNOTATE(guarded_by(x))
#define REQUIRES(...) MUSTER_ANNOTATE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) MUSTER_ANNOTATE(locks_excluded(__VA_ARGS__))

namespace muster {

class MUSTER_ANNOTATE(capability("mutex")) Mutex {
 public:
  void lock() MUSTER_ANNOTATE(acquire_capability()) { mutex_.lock(); }
  void unlock() MUSTER_ANNOTATE(release_capability()) { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class MUSTER_ANNOTATE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MUSTER_ANNOTATE(acquire_capability(mutex)) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() MUSTER_ANNOTATE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits need the lock held and give it back held. Spurious wakes happen: loop.
class CondVar {
 public:
  void wait(Mutex& mutex) REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  template <class Clock, class D>
  std::cv_status wait_until(Mutex& mutex, std::chrono::time_point<Clock, D> deadline) REQUIRES(mutex) {
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    auto status = condition_.wait_until(lock, deadline);
    lock.release();
    return status;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace muster
