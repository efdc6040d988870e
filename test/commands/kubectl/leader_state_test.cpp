#include "commands/kubectl/leader_state.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/meta/time.h"

namespace muster::test::leader_state_test {
namespace {

using commands::alarm_line;
using commands::alarm_of;
using nlohmann::json;

const std::string kMuster = "muster-6f9c-abcde_0123456789abcdef0123456789abcdef";

json lease(const std::string& holder, const char* renewed = "2026-01-01T12:00:00.000000Z") {
  return {{"spec", {{"holderIdentity", holder}, {"renewTime", renewed}, {"leaseDurationSeconds", 15}}}};
}

TimePoint at(std::string_view time) {
  return to_time_point(*parse_rfc3339(time));
}

TEST_CASE("leader state: a Lease that is renewed is no alarm, also while it changes hands") {
  CHECK(alarm_of(lease(kMuster), at("2026-01-01T12:00:10Z")).empty());
  CHECK(alarm_of(lease(kMuster), at("2026-01-01T12:00:19Z")).empty());
  CHECK(alarm_of(lease(""), at("2026-01-01T12:00:10Z")).empty());
}

TEST_CASE("leader state: a Lease that nobody renews says since when, and one of others whose it is") {
  const std::string down = "muster is down since 2026-01-01T12:00:00Z: nothing is admitted or evicted";
  CHECK(alarm_of(lease(kMuster), at("2026-01-01T12:01:00Z")) == down);
  CHECK(alarm_of(lease(""), at("2026-01-01T12:01:00Z")) == down);
  CHECK(alarm_of(json{{"spec", json::object()}}, at("2026-01-01T12:00:00Z")).starts_with("muster is down"));
  CHECK(alarm_of(lease("kueue-controller-manager-x"), at("2026-01-01T12:00:01Z")).find("holds its Lease") !=
        std::string::npos);
  CHECK(alarm_line("").empty());
  CHECK(alarm_line("muster is down") == "!! muster is down.\n");
}

}  // namespace
}  // namespace muster::test::leader_state_test
