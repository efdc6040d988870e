// The pure parts of a request: its path, what an error says, when it is sent again.
#include <doctest/doctest.h>

#include "kube/client.h"
#include "kube/resource.h"
#include "kube/retry.h"
#include "kube/status_error.h"
#include "kube/transport/connection.h"
#include "kube/transport/throttle.h"

namespace muster::kube::request_test {
namespace {

using namespace std::chrono_literals;

const Resource kJobs{"batch", "v1", "jobs", true, "Job"};
const Resource kNamespaces{"", "v1", "namespaces", false, "Namespace"};

TEST_CASE("paths follow the group, the namespace and the subresource") {
  CHECK(collection_path(kJobs, "") == "/apis/batch/v1/jobs");
  CHECK(collection_path(kJobs, "team-a") == "/apis/batch/v1/namespaces/team-a/jobs");
  CHECK(collection_path(kNamespaces, "ignored") == "/api/v1/namespaces");
  CHECK(object_path(kJobs, "team-a", "train", "status") == "/apis/batch/v1/namespaces/team-a/jobs/train/status");
  CHECK(object_path(kNamespaces, "", "../x") == "/api/v1/namespaces/..%2Fx");
  CHECK(display_name(kJobs) == "jobs.batch");
  CHECK(display_name(kNamespaces) == "namespaces");
}

TEST_CASE("queries are percent-encoded so that selectors survive") {
  CHECK(with_query("/p", {}) == "/p");
  CHECK(with_query("/p", {{"labelSelector", "a in (b,c)&x"}, {"limit", "5"}}) ==
        "/p?labelSelector=a%20in%20%28b%2Cc%29%26x&limit=5");
}

TEST_CASE("server addresses are split into host port and prefix") {
  const auto plain = parse_endpoint("https://10.0.0.1:6443");
  REQUIRE(plain.ok());
  CHECK(plain->tls);
  CHECK(plain->host == "10.0.0.1");
  CHECK(plain->port == 6443);
  const auto prefixed = parse_endpoint("https://gate.example.com/k8s/c-1/");
  REQUIRE(prefixed.ok());
  CHECK(prefixed->port == 443);
  CHECK(prefixed->path_prefix == "/k8s/c-1");
  const auto six = parse_endpoint("https://[fd00::1]:443");
  REQUIRE(six.ok());
  CHECK(six->host == "fd00::1");
  const auto http = parse_endpoint("http://localhost");
  REQUIRE(http.ok());
  CHECK_FALSE(http->tls);
  CHECK(http->port == 80);
  for (const char* bad :
       {"", "ftp://x", "https://", "https://x:0", "https://x:70000", "https://[::1", "https://x:6443x"}) {
    CAPTURE(bad);
    CHECK_FALSE(parse_endpoint(bad).ok());
  }
}

TEST_CASE("a Status becomes an error with reason, causes and the time to stay away") {
  const auto error = status_error(422,
                                  R"({"kind":"Status","reason":"Invalid","message":"Job \"x\" is invalid",
      "details":{"retryAfterSeconds":7,"causes":[{"reason":"FieldValueInvalid","message":"too low","field":"spec.a"}]}})",
                                  "");
  CHECK(error.code == 422);
  CHECK(error.reason == "Invalid");
  CHECK(error.message == "Job \"x\" is invalid");
  REQUIRE(error.causes.size() == 1);
  CHECK(error.causes[0].field == "spec.a");
  CHECK(error.retry_after == std::optional<Duration>(7s));
}

TEST_CASE("an answer that is no Status is quoted shortly and on one line") {
  const auto error = status_error(502, "<html>\nbad gateway " + std::string(1000, 'x'), "3");
  CHECK(error.message.starts_with("the server answered HTTP 502: <html> bad gateway xxx"));
  CHECK(error.message.size() < 400);
  CHECK(error.retry_after == std::optional<Duration>(3s));
  CHECK_FALSE(status_error(503, "", "Fri, 01 Jan 2027 00:00:00 GMT").retry_after.has_value());
  CHECK_FALSE(status_error(503, "", "99999999999999").retry_after.has_value());
}

TEST_CASE("AlreadyExists and Conflict share a code and are told apart") {
  StatusError error;
  error.code = 409;
  error.reason = "AlreadyExists";
  CHECK(error.already_exists());
  CHECK_FALSE(error.conflict());
  error.reason = "Conflict";
  CHECK(error.conflict());
  CHECK_FALSE(error.already_exists());
}

StatusError answered(int code, std::optional<Duration> retry_after) {
  StatusError error;
  error.code = code;
  error.retry_after = retry_after;
  return error;
}

TEST_CASE("which failures are sent again and after how long") {
  struct Row {
    std::string name;
    StatusError error;
    bool repeatable;
    bool sent;
    RetryHistory history;
    std::optional<Duration> expected;
  };
  const StatusError broken = unanswered(kUnreachableReason, "");
  const Row rows[] = {
      {"429 with Retry-After is repeated after that time", answered(429, 2s), false, true, {}, 2s},
      {"503 with Retry-After is repeated for any verb", answered(503, 1s), false, true, {}, 1s},
      {"429 without Retry-After is the caller's", answered(429, {}), true, true, {}, {}},
      {"500 with Retry-After may have been carried out and is the caller's", answered(500, 1s), true, true, {}, {}},
      {"409 is the caller's", answered(409, {}), true, true, {}, {}},
      {"the eleventh 429 is the caller's", answered(429, 1s), true, true, {10, 0, 10s}, {}},
      {"waits add up to a minute at most", answered(429, 30s), true, true, {2, 0, 40s}, {}},
      {"a first broken repeatable request is repeated at once", broken, true, true, {}, 0s},
      {"a second broken one waits", broken, true, true, {0, 1, 0s}, 200ms},
      {"a fourth broken one is the caller's", broken, true, true, {0, 3, 0s}, {}},
      {"a broken request that is not repeatable is never repeated", broken, false, true, {}, {}},
      {"a request that was never sent is repeated after a moment", broken, false, false, {}, 100ms},
      {"a request out of time is the caller's", unanswered(kNoAnswerInTimeReason, ""), true, true, {}, {}},
      {"a cancelled request stays cancelled", unanswered(kCancelledReason, ""), true, true, {}, {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(retry_delay(row.error, row.repeatable, row.sent, row.history, 0.0) == row.expected);
  }
}

TEST_CASE("callers that were turned away together do not return together") {
  const auto early = retry_delay(answered(429, 10s), true, true, {}, 0.0);
  const auto late = retry_delay(answered(429, 10s), true, true, {}, 0.999);
  REQUIRE((early && late));
  CHECK(*early == 10s);
  CHECK(*late > 10'900ms);
}

TEST_CASE("a token bucket lets a burst through and then one at a time") {
  Throttle throttle({10, 3});
  MonotonicTime now(1h);
  for (int i = 0; i < 3; ++i) CHECK(throttle.take(now) == 0s);
  CHECK(throttle.take(now) == 100ms);
  CHECK(throttle.take(now) == 200ms);
  now += 10s;  // full again, and not fuller than the burst
  for (int i = 0; i < 3; ++i) CHECK(throttle.take(now) == 0s);
  CHECK(throttle.take(now) == 100ms);
}

TEST_CASE("without a limit nobody waits") {
  Throttle throttle({});
  for (int i = 0; i < 1000; ++i) CHECK(throttle.take(MonotonicTime(1h)) == 0s);
}

TEST_CASE("the user agent has the form of Kubernetes' own components") {
  const std::string agent = user_agent("0.1.0", "1a2b3c4d5e6f");
  CHECK(agent.starts_with("muster/0.1.0 (linux/"));
  CHECK(agent.ends_with(") 1a2b3c4"));
  CHECK(user_agent("0.1.0", "").ends_with(")"));
}

}  // namespace
}  // namespace muster::kube::request_test
