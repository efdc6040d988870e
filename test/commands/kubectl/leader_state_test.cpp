#include "commands/kubectl/leader_state.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "api/meta/time.h"

namespace muster::test::leader_state_test {
namespace {

using commands::alarm_line;
using commands::LeaderTrouble;
using nlohmann::json;

const std::string kMuster = "muster-6f9c-abcde_0123456789abcdef0123456789abcdef";

json lease(const std::string& holder, const char* renewed = "2026-01-01T12:00:00.000000Z") {
  return {{"spec", {{"holderIdentity", holder}, {"renewTime", renewed}, {"leaseDurationSeconds", 15}}}};
}

TimePoint at(std::string_view time) {
  return to_time_point(*parse_rfc3339(time));
}

std::string sentence_of(const json& lease, const char* now) {
  const auto trouble = commands::leader_trouble(&lease, at(now));
  return trouble ? trouble->sentence : "";
}

TEST_CASE("leader state: a Lease that is renewed is no alarm, also while it changes hands") {
  CHECK(sentence_of(lease(kMuster), "2026-01-01T12:00:10Z").empty());
  CHECK(sentence_of(lease(kMuster), "2026-01-01T12:00:20Z").empty());
  CHECK(sentence_of(lease(""), "2026-01-01T12:00:20Z").empty());
  // A follower's clock that is behind, and a Lease without a time.
  CHECK(sentence_of(lease(kMuster), "2026-01-01T11:00:00Z").empty());
  CHECK(sentence_of(json{{"spec", {{"holderIdentity", kMuster}}}}, "2026-01-01T12:00:00Z").empty());
}

TEST_CASE("leader state: a Lease that nobody renews says since when, and one of others whose it is") {
  const std::string down = "muster is down since 2026-01-01T12:00:00Z: nothing is admitted or evicted";
  const std::string none = "no replica of muster leads: nothing is admitted or evicted";
  CHECK(sentence_of(lease(kMuster), "2026-01-01T12:00:21Z") == down);
  CHECK(sentence_of(lease(""), "2026-01-01T12:00:21Z") == down);
  CHECK(sentence_of(json{{"spec", json::object()}}, "2026-01-01T12:00:00Z") == none);
  CHECK(commands::leader_trouble(nullptr, at("2026-01-01T12:00:00Z"))->sentence == none);
  const std::string other = "kueue-controller-manager-x";
  CHECK(sentence_of(lease(other), "2026-01-01T12:00:01Z").find(other + " holds its Lease") != std::string::npos);
  const auto kind = [](const std::string& holder) {
    const json object = lease(holder);
    return commands::leader_trouble(&object, at("2026-01-01T12:01:00Z"))->kind;
  };
  CHECK(kind(kMuster) == LeaderTrouble::Kind::kExpired);
  CHECK(kind("") == LeaderTrouble::Kind::kNoHolder);
  CHECK(kind(other) == LeaderTrouble::Kind::kOfOthers);
}

TEST_CASE("leader state: the holder of a Lease cannot steer the terminal") {
  CHECK(alarm_line("").empty());
  CHECK(alarm_line("muster is down") == "!! muster is down.\n");
  const std::string sentence = sentence_of(lease("x\x1b[2J\nmuster is well"), "2026-01-01T12:00:01Z");
  CHECK(alarm_line(sentence).find_first_of("\x1b") == std::string::npos);
  CHECK(alarm_line(sentence).find('\n') == alarm_line(sentence).size() - 1);
}

}  // namespace
}  // namespace muster::test::leader_state_test
