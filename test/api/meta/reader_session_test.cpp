#include "api/meta/reader_session.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "api/meta/time.h"

namespace muster::test::reader_session_test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

const std::string kSecret(64, 'a');

TimePoint at(std::string_view time) {
  return to_time_point(*parse_rfc3339(time));
}

json session(std::string_view created = "2026-01-01T12:00:00Z") {
  json made = reader_session({{"username", "alice"}, {"groups", {"team-a"}}}, kSecret);
  made["metadata"] = {{"namespace", "team-a"}, {"name", "reader-1"}, {"creationTimestamp", created}};
  return made;
}

TEST_CASE("reader session: the token names the session and has the secret") {
  const std::string text = to_text(ReaderSessionToken{"team-a", "reader-x7k2p", kSecret});
  CHECK(is_reader_session_token(text));
  const auto read = read_reader_session_token(text);
  REQUIRE(read);
  CHECK(read->ns == "team-a");
  CHECK(read->name == "reader-x7k2p");
  CHECK(read->secret == kSecret);
  CHECK_FALSE(is_reader_session_token("eyJhbGciOi"));
}

TEST_CASE("reader session: a token that can name no session asks for nothing") {
  for (const std::string& text :
       {std::string(), std::string("muster-session/"), std::string("muster-session/a/b"),
        "muster-session/../secrets/x/" + kSecret, "muster-session/a/b/" + kSecret + "/c",
        "muster-session/A/b/" + kSecret, "muster-session/a//" + kSecret, "muster-session/a/b?x=y/" + kSecret,
        "muster-session/a/b/" + std::string(64, 'A'), "muster-session/a/b/" + std::string(63, 'a')}) {
    CAPTURE(text);
    CHECK_FALSE(read_reader_session_token(text));
  }
}

TEST_CASE("reader session: it says who, with the right secret and for ten minutes") {
  const TimePoint now = at("2026-01-01T12:05:00Z");
  CHECK(user_of_reader_session(session(), kSecret, now) == json{{"username", "alice"}, {"groups", {"team-a"}}});
  CHECK(user_of_reader_session(session(), std::string(64, 'b'), now).is_null());
  CHECK(user_of_reader_session(session(), "", now).is_null());
  CHECK_FALSE(user_of_reader_session(session(), kSecret, at("2026-01-01T12:09:59Z")).is_null());
  CHECK(user_of_reader_session(session(), kSecret, at("2026-01-01T12:10:00Z")).is_null());
  // The API server's clock can be ahead a little, and no session is of the future.
  CHECK_FALSE(user_of_reader_session(session(), kSecret, at("2026-01-01T11:59:30Z")).is_null());
  CHECK(user_of_reader_session(session(), kSecret, at("2026-01-01T11:58:00Z")).is_null());
}

TEST_CASE("reader session: an object that is deleted or broken says nothing") {
  const TimePoint now = at("2026-01-01T12:05:00Z");
  json deleted = session();
  deleted["metadata"]["deletionTimestamp"] = "2026-01-01T12:01:00Z";
  json nobody = session();
  nobody["spec"]["user"]["username"] = "";
  json timeless = session();
  timeless["metadata"].erase("creationTimestamp");
  for (const json& object : {deleted, nobody, timeless, json(), json::object(), json::array({1})}) {
    CAPTURE(object);
    CHECK(user_of_reader_session(object, kSecret, now).is_null());
  }
  CHECK(is_over(timeless, now));
  CHECK_FALSE(is_over(session(), now));
}

}  // namespace
}  // namespace muster::test::reader_session_test
