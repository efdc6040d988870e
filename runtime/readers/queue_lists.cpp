#include "runtime/readers/queue_lists.h"

#include <optional>
#include <utility>

#include "runtime/explain_service.h"
#include "runtime/readers/usage_recorder.h"

namespace muster::runtime {

SharedSnapshot::~SharedSnapshot() {
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  keeper_.join();
}

std::shared_ptr<const explain::QueueSnapshot> SharedSnapshot::get() {
  {
    const MutexLock lock(mutex_);
    for (;;) {
      const MonotonicTime now = clock_.now().monotonic;
      kept_until_ = now + times_.kept;
      if (last_ && now < (making_ ? stale_from_ : fresh_until_)) return last_;
      if (!making_) break;
      changed_.wait(mutex_);
    }
    making_ = true;
  }
  std::shared_ptr<const explain::QueueSnapshot> made;
  const auto done = [&] {
    const MutexLock lock(mutex_);
    making_ = false;
    last_ = made;
    const MonotonicTime now = clock_.now().monotonic;
    fresh_until_ = now + times_.fresh;
    stale_from_ = now + times_.stale;
    kept_until_ = now + times_.kept;
  };
  try {
    std::optional<explain::QueueListing> listed = take_();
    if (listed) made = std::make_shared<const explain::QueueSnapshot>(std::move(*listed));
  } catch (...) {
    done();
    changed_.notify_all();
    throw;
  }
  done();
  changed_.notify_all();
  return made;
}

bool SharedSnapshot::kept() const {
  const MutexLock lock(mutex_);
  return last_ != nullptr;
}

void SharedSnapshot::drop_unused() {
  MutexLock lock(mutex_);
  while (!ending_) {
    if (!last_) {
      changed_.wait(mutex_);
    } else if (clock_.now().monotonic >= kept_until_) {
      last_.reset();
    } else {
      changed_.wait_until(mutex_, kept_until_);
    }
  }
}

server::Lister make_lister(kube::Authorizer& authorizer, std::function<EngineLoop*()> loop, const Clock& clock,
                           std::function<std::shared_ptr<const StartEstimates>()> starts,
                           std::function<std::string()> alarm) {
  server::Lister lister;
  lister.starts = std::move(starts);
  lister.authorize = [&authorizer](std::string_view token, const server::ListAccess& access) {
    return decide_access(authorizer, token, question_of(access));
  };
  const auto take = [loop = std::move(loop), alarm = std::move(alarm),
                     &clock]() -> std::optional<explain::QueueListing> {
    std::optional<explain::QueueListing> listed;
    if (EngineLoop* deciding = loop()) {
      deciding->ask([&](const engine::Engine& engine) {
        listed = explain::take_queue_listing(engine.state(), engine.decisions(), engine.leads(), clock.now());
        listed->records_submitters = engine.queue_settings().rules.record_submitter;
      });
    }
    if (listed) listed->alarm = alarm();
    return listed;
  };
  lister.usage = [recorder = std::make_shared<UsageRecorder>(take, clock)](std::string_view cluster_queue) {
    return recorder->of_cluster_queue(cluster_queue);
  };
  lister.snapshot = [shared = std::make_shared<SharedSnapshot>(take, clock)] { return shared->get(); };
  return lister;
}

}  // namespace muster::runtime
