#include "engine/loop/candidacy.h"

#include <doctest/doctest.h>

namespace candidacy_test {

using namespace muster;
using namespace muster::engine;
using namespace std::chrono_literals;
using Pause = Candidacy::Pause;

namespace {

MonotonicTime at(Duration time) {
  return MonotonicTime(1h) + time;
}

Candidacy begun(bool elected) {
  Candidacy candidacy(elected);
  candidacy.begin();
  return candidacy;
}

}  // namespace

TEST_CASE("candidacy: a pause gives leadership up once, and the last resume takes part again") {
  Candidacy candidacy = begun(true);
  CHECK(candidacy.takes_part());
  CHECK(candidacy.pause(Pause::kStuck));
  CHECK_FALSE(candidacy.takes_part());
  CHECK_FALSE(candidacy.pause(Pause::kStuck));
  CHECK_FALSE(candidacy.pause(Pause::kKueue));
  CHECK_FALSE(candidacy.resume(Pause::kStuck));
  CHECK_FALSE(candidacy.takes_part());
  CHECK(candidacy.resume(Pause::kKueue));
  CHECK(candidacy.takes_part());
  // There was no pause, so nothing begins a second time.
  CHECK_FALSE(candidacy.resume(Pause::kKueue));
  CHECK(candidacy.takes_part());
}

TEST_CASE("candidacy: a pause before the beginning keeps a replica away, and one after the end changes nothing") {
  Candidacy candidacy(true);
  CHECK_FALSE(candidacy.takes_part());
  CHECK_FALSE(candidacy.pause(Pause::kKueue));
  candidacy.begin();
  CHECK_FALSE(candidacy.takes_part());
  CHECK(candidacy.resume(Pause::kKueue));
  candidacy.end();
  CHECK_FALSE(candidacy.takes_part());
  CHECK_FALSE(candidacy.pause(Pause::kStuck));
  CHECK_FALSE(candidacy.resume(Pause::kStuck));
}

TEST_CASE("candidacy: without elections only Kueue is a reason for a pause") {
  Candidacy candidacy = begun(false);
  for (const Pause why : {Pause::kStuck, Pause::kBehind}) {
    CHECK_FALSE(candidacy.pause(why));
    CHECK(candidacy.takes_part());
    CHECK_FALSE(candidacy.resume(why));
  }
  CHECK_FALSE(candidacy.set_behind(true, at(0s)));
  CHECK_FALSE(candidacy.yields_at());
  CHECK(candidacy.pause(Pause::kKueue));
  CHECK(candidacy.resume(Pause::kKueue));
}

TEST_CASE("candidacy: a replica that stays behind gives way after a while, until it has caught up") {
  Candidacy candidacy = begun(true);
  CHECK_FALSE(candidacy.yields_at());
  CHECK_FALSE(candidacy.set_behind(true, at(0s)));
  CHECK_FALSE(candidacy.set_behind(true, at(4s)));  // another kind: the time goes on
  CHECK(candidacy.yields_at() == at(Candidacy::kLongestBehind));
  CHECK(candidacy.takes_part());
  CHECK(candidacy.pause(Pause::kBehind));
  CHECK_FALSE(candidacy.yields_at());
  CHECK_FALSE(candidacy.set_behind(true, at(20s)));
  CHECK_FALSE(candidacy.takes_part());
  CHECK(candidacy.set_behind(false, at(30s)));
  CHECK(candidacy.takes_part());
  CHECK_FALSE(candidacy.yields_at());
  // In time.
  CHECK_FALSE(candidacy.set_behind(true, at(40s)));
  CHECK_FALSE(candidacy.set_behind(false, at(41s)));
  CHECK_FALSE(candidacy.yields_at());
  CHECK(candidacy.takes_part());
}

}  // namespace candidacy_test
