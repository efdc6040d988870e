#include "commands/agent/worker.h"

#include <doctest/doctest.h>

#include <csignal>
#include <future>
#include <memory>
#include <string>
#include <vector>

namespace muster::test::worker_test {
namespace {

using agent::Worker;

// The exit code of a command; `signal` is sent to it.
int run(const std::string& command, int signal = 0) {
  // Its thread can still be at the end of its last call.
  static std::vector<std::unique_ptr<Worker>> workers;
  Worker& worker = *workers.emplace_back(std::make_unique<Worker>());
  auto code = std::make_shared<std::promise<int>>();
  auto ended = code->get_future();
  REQUIRE(worker.start("/bin/sh", command, [code](int value) { code->set_value(value); }).ok());
  if (signal != 0) CHECK(worker.send(signal));
  const int value = ended.get();
  CHECK_FALSE(worker.send(SIGKILL));
  return value;
}

TEST_CASE("in-place worker: its exit code is that of the command") {
  CHECK(run("exit 0") == 0);
  CHECK(run("exit 3") == 3);
  CHECK(run("kill -TERM $$") == 128 + SIGTERM);
  CHECK(run("no-such-command-at-all 2>/dev/null") == 127);
}

TEST_CASE("in-place worker: a signal reaches what the command has started") {
  CHECK(run("sleep 600; exit 0", SIGTERM) == 128 + SIGTERM);
  CHECK(run("sleep 600 & wait", SIGKILL) == 128 + SIGKILL);
}

// The tests ignore it, as the agent does (test/support/main.cpp).
TEST_CASE("in-place worker: SIGPIPE ends the command") {
  CHECK(run("kill -PIPE $$") == 128 + SIGPIPE);
}

TEST_CASE("in-place worker: an image without a shell is said, and nothing runs") {
  Worker worker;
  const auto started = worker.start("/no/such/shell", "exit 0", [](int) { FAIL("it has run"); });
  REQUIRE_FALSE(started.ok());
  CHECK(started.error().message.starts_with("the worker cannot be started by /no/such/shell: No such file"));
  CHECK_FALSE(worker.send(SIGTERM));
}

}  // namespace
}  // namespace muster::test::worker_test
