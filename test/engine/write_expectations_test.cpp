#include "engine/write_expectations.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

namespace write_expectations_test {

using namespace muster;
using namespace muster::engine;
using nlohmann::json;

namespace {

TypedObject job(const char* name, int version) {
  return read_object(
      kJobs, {{"metadata", {{"namespace", "ns"}, {"name", name}, {"resourceVersion", std::to_string(version)}}}});
}

ObjectKey key(const char* name) {
  return {&kJobs, "ns", name};
}

}  // namespace

TEST_CASE("write expectations: a version shows itself and those before it") {
  WriteExpectations writes;
  writes.add(key("a"), 5, key("request-5"));
  writes.add(key("a"), 7, key("request-7"));
  writes.add(key("b"), 5, key("request-b"));
  CHECK(writes.take_seen(job("a", 4)).empty());
  CHECK(writes.take_seen(job("a", 6)) == std::vector{key("request-5")});
  CHECK(writes.take_seen(job("a", 6)).empty());
  CHECK(writes.take_seen(job("a", 7)) == std::vector{key("request-7")});
  CHECK(writes.take_seen(job("b", 9)) == std::vector{key("request-b")});
}

TEST_CASE("write expectations: an object that has gone ends all of its own") {
  WriteExpectations writes;
  for (int version : {5, 7}) writes.add(key("a"), version, key("request"));
  writes.add(key("b"), 6, key("request-b"));
  CHECK(writes.take_gone(job("a", 1)).size() == 2);
  CHECK(writes.take_gone(job("a", 1)).empty());
  writes.clear();
  CHECK(writes.take_gone(job("b", 1)).empty());
}

}  // namespace write_expectations_test
