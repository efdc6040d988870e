#include "state/pod_searches.h"

#include <doctest/doctest.h>

namespace pod_searches_test {

using namespace muster;
using namespace muster::state;

namespace {

ObjectKey key(const char* name) {
  return {&kJobs, "team-a", name};
}

}  // namespace

TEST_CASE("a search for pods is due again after growing pauses while there are some") {
  using namespace std::chrono_literals;
  PodSearches searches;
  const ObjectKey job = key("a");
  const std::string search = "a=b";
  MonotonicTime now{};
  CHECK_FALSE(searches.found(job, search, now));
  for (const auto pause : {1s, 2s, 4s, 8s, 8s, 8s}) {
    searches.note(job, search, true, now);
    const auto found = searches.found(job, search, now);
    REQUIRE(found);
    CHECK(found->any);
    CHECK(found->next == pause);
    now += pause;
    CHECK_FALSE(searches.found(job, search, now));
  }
  searches.note(job, search, false, now);
  CHECK_FALSE(searches.found(job, search, now + 59s)->any);
  CHECK_FALSE(searches.found(job, search, now + 60s));
}

TEST_CASE("a search for pods is due again after up to a minute where many ask") {
  using namespace std::chrono_literals;
  for (const auto& [askers, pause] : {std::pair(40, 8s), {100, 20s}, {1000, 60s}}) {
    PodSearches searches;
    for (int i = 0; i < askers; ++i) searches.note(key(std::to_string(i).c_str()), "a=b", true, MonotonicTime{});
    for (int times = 0; times < 10; ++times) searches.note(key("0"), "a=b", true, MonotonicTime{});
    CHECK(searches.found(key("0"), "a=b", MonotonicTime{})->next == pause);
  }
}

TEST_CASE("a search for pods: the answer that there are none ends with the next write of who asked") {
  PodSearches searches;
  const MonotonicTime now{};
  for (const char* name : {"a", "b"}) searches.note(key(name), "none", false, now);
  searches.note(key("a"), "some", true, now);
  searches.forget_none(key("a"));
  CHECK_FALSE(searches.found(key("a"), "none", now));
  CHECK(searches.found(key("a"), "some", now));
  CHECK(searches.found(key("b"), "none", now));
}

}  // namespace pod_searches_test
