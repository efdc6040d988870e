#include "runtime/log_observers.h"

#include <doctest/doctest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <sstream>
#include <thread>
#include <vector>

#include "server/metrics/metrics.h"
#include "test/support/hand_clock.h"

namespace log_observers_test {

using namespace muster;
using namespace muster::runtime;
using namespace std::chrono_literals;

namespace {

// What is logged while it lives.
class LogCapture {
 public:
  LogCapture() : before_(spdlog::default_logger()) {
    auto logger =
        std::make_shared<spdlog::logger>("captured", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_, true));
    logger->set_pattern("%v");
    spdlog::set_default_logger(std::move(logger));
  }
  ~LogCapture() { spdlog::set_default_logger(before_); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  // Lines that contain the text.
  int lines_with(std::string_view part) const {
    std::istringstream lines(text_.str());
    int found = 0;
    for (std::string line; std::getline(lines, line);) found += line.find(part) != std::string::npos ? 1 : 0;
    return found;
  }

 private:
  const std::shared_ptr<spdlog::logger> before_;
  std::ostringstream text_;
};

}  // namespace

TEST_CASE("log observers: what the client tells is counted from every thread") {
  server::ClientMetrics client;
  KubeLog observer(system_clock(), client);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 100; ++n) {
        observer.request_done("GET", "host:443", "200", 1ms);
        observer.event_done(kube::EventOutcome::kRateLimited, "");
      }
    });
  }
  for (auto& thread : threads) thread.join();
  server::Metrics metrics({.version = "1", .rules = {}});
  metrics.include(client.collectable());
  const std::string text = metrics.expose();
  for (const char* line : {R"(rest_client_requests_total{code="200",host="host:443",method="GET"} 400)",
                           R"(rest_client_request_duration_seconds_count{host="host:443",verb="GET"} 400)",
                           R"(muster_events_total{outcome="rate_limited"} 400)"}) {
    INFO(std::string(line));
    CHECK(text.find(line) != std::string::npos);
  }
}

TEST_CASE("log observers: the first of a kind passes and then one per interval with what was swallowed") {
  LogThrottle throttle(10s);
  const MonotonicTime start(1h);
  CHECK(throttle.pass("a", start) == 0);
  CHECK(throttle.pass("b", start) == 0);
  CHECK(throttle.pass("a", start + 9s) == std::nullopt);
  CHECK(throttle.pass("a", start + 9999ms) == std::nullopt);
  CHECK(throttle.pass("a", start + 10s) == 2);
  CHECK(throttle.pass("a", start + 21s) == 0);
}

TEST_CASE("log observers: a text of the API server is logged once in an hour and texts without end are one") {
  TextThrottle throttle;
  const MonotonicTime start(1h);
  CHECK(throttle.pass("deprecated", start) == 0);
  CHECK(throttle.pass("deprecated", start + 59min) == std::nullopt);
  CHECK(throttle.pass("unknown field", start) == 0);
  CHECK(throttle.pass("deprecated", start + 60min) == 1);
  int passed = 0;
  for (int i = 0; i < 1000; ++i) passed += throttle.pass("pod " + std::to_string(i), start) ? 1 : 0;
  CHECK(passed == static_cast<int>(TextThrottle::kTexts) - 2 + 1);
}

TEST_CASE("log observers: warnings of the API server are counted") {
  server::ClientMetrics client;
  KubeLog observer(system_clock(), client);
  for (int i = 0; i < 3; ++i) observer.warned("POST", "/apis/batch/v1/jobs", "unknown field");
  server::Metrics metrics({.version = "1", .rules = {}});
  metrics.include(client.collectable());
  CHECK(metrics.expose().find("muster_api_warnings_total 3") != std::string::npos);
}

TEST_CASE("log observers: writes that fail are one line per interval, however many objects there are") {
  test::HandClock clock;
  server::ClientMetrics client;
  KubeLog observer(clock, client);
  const LogCapture log;
  const auto fail = [&](int count, bool refused) {
    for (int i = 0; i < count; ++i) observer.write_failed("workloads/team/w" + std::to_string(i), "no answer", refused);
  };
  fail(1000, false);
  CHECK(log.lines_with("a write failed") == 1);
  // A permanent refusal is another kind of news.
  fail(1000, true);
  CHECK(log.lines_with("a write failed") == 2);
  clock.time.monotonic += 10s;
  fail(1000, false);
  CHECK(log.lines_with("a write failed") == 3);
  // The line says how many there were that it does not name.
  CHECK(log.lines_with("999") == 1);
}

TEST_CASE("log observers: what a watch hears makes the picture of its kind young") {
  test::HandClock clock;
  server::ClientMetrics client(clock);
  KubeLog observer(clock, client);
  const kube::Resource jobs{.group = "batch", .version = "v1", .plural = "jobs", .kind = "Job"};
  CHECK(client.watch_ages()->ages().empty());
  observer.heard(jobs, "");
  clock.time.monotonic += 90s;
  CHECK(client.watch_ages()->ages() == std::map<std::string, Duration>{{"jobs.batch", 90s}});
  observer.heard(jobs, "");
  CHECK(client.watch_ages()->ages() == std::map<std::string, Duration>{{"jobs.batch", 0s}});
}

}  // namespace log_observers_test
