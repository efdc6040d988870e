#include "engine/loop/kind_feed.h"

#include <doctest/doctest.h>

#include "api/job.h"
#include "engine/engine.h"

namespace kind_feed_test {

using namespace muster;
using namespace muster::engine;
using nlohmann::json;

namespace {

const WatchedKind kWhole{.type = &kJobs};
const WatchedKind kMetadata{.type = &kNamespaces, .metadata_only = true};

json job(const char* name, int version) {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata",
           {{"namespace", "team-a"},
            {"name", name},
            {"resourceVersion", std::to_string(version)},
            {"annotations", {{"a", "b"}}}}},
          {"spec", {{"parallelism", 3}}}};
}

json everything() {
  return {{"apiVersion", "v1"},
          {"kind", "Namespace"},
          {"metadata",
           {{"name", "team-a"},
            {"namespace", "around"},
            {"uid", "u-1"},
            {"resourceVersion", "7"},
            {"generation", 3},
            {"creationTimestamp", "2026-01-02T03:04:05Z"},
            {"labels", {{"team", "a"}}},
            {"annotations", {{"large", "text"}}},
            {"finalizers", {"kubernetes"}},
            {"ownerReferences", {{{"kind", "Tenant"}, {"name", "t"}, {"uid", "u-2"}}}},
            {"managedFields", {{{"manager", "kubectl"}}}}}},
          {"spec", {{"finalizers", {"kubernetes"}}}},
          {"status", {{"phase", "Active"}}}};
}

}  // namespace

TEST_CASE("kind feed: of an object that is watched for its metadata what rules ask about is kept, and no more") {
  const json kept = trimmed_metadata(everything());
  CHECK(kept == json{{"apiVersion", "v1"},
                     {"kind", "Namespace"},
                     {"metadata",
                      {{"name", "team-a"},
                       {"namespace", "around"},
                       {"uid", "u-1"},
                       {"resourceVersion", "7"},
                       {"labels", {{"team", "a"}}},
                       {"ownerReferences", {{{"kind", "Tenant"}, {"name", "t"}, {"uid", "u-2"}}}}}}});
  KindFeed feed(kMetadata);
  const auto event = feed.change(everything());
  REQUIRE(event.ok());
  const ObjectMeta& meta = meta_of(std::get<ObjectChanged>(*event).object);
  CHECK(meta.label("team") == "a");
  CHECK(meta.annotations.empty());
  CHECK(meta.resource_version == 7);
}

TEST_CASE("kind feed: other objects are read whole") {
  KindFeed feed(kWhole);
  const auto event = feed.change(job("train", 4));
  REQUIRE(event.ok());
  const TypedObject& object = std::get<ObjectChanged>(*event).object;
  CHECK(meta_of(object).annotation("a") == "b");
  CHECK(std::get<JobPtr>(object)->parallelism == 3);
  const auto gone = feed.removal(job("train", 5));
  REQUIRE(gone.ok());
  CHECK(meta_of(std::get<ObjectRemoved>(*gone).object).resource_version == 5);
}

TEST_CASE("kind feed: a list that begins again forgets its start") {
  KindFeed feed(kWhole, "");
  feed.begin_list();
  CHECK(feed.list(job("old", 1)).ok());
  feed.begin_list();
  CHECK(feed.list(job("train", 2)).ok());
  CHECK(feed.list(job("tune", 3)).ok());
  const KindListed listed = feed.end_list(9);
  CHECK(listed.type == &kJobs);
  CHECK(listed.version == 9);
  CHECK(listed.name.empty());
  REQUIRE(listed.objects.size() == 2);
  CHECK(meta_of(listed.objects[0]).name == "train");
  CHECK(meta_of(listed.objects[1]).name == "tune");
  CHECK(feed.end_list(10).objects.empty());
}

TEST_CASE("kind feed: the watch of one object names it, and proves nothing about its kind") {
  KindFeed one(kWhole, "train");
  CHECK(one.end_list(1).name == "train");
  CHECK_FALSE(one.caught_up(3));
  KindFeed all(kWhole);
  REQUIRE(all.caught_up(3));
  CHECK(all.caught_up(3)->type == &kJobs);
  CHECK(all.caught_up(3)->term == 3);
  CHECK(all.absence().type == &kJobs);
}

TEST_CASE("kind feed: kinds that are not watched are there for the engine, and never behind a term") {
  Engine engine({});
  const Now now{TimePoint(std::chrono::seconds(1'800'000'000)), MonotonicTime(std::chrono::hours(1))};
  for (const WatchedKind& kind : watched_kinds()) {
    CHECK_FALSE(engine.kinds().synced());
    for (const Event& event : events_of_unwatched(*kind.type)) engine.apply(event, now);
  }
  CHECK(engine.kinds().synced());
  engine.apply(LeadershipChanged{true, 5}, now);
  CHECK(engine.kinds().behind().empty());
  CHECK(engine.kinds().missing().empty());
}

TEST_CASE("kind feed: kinds are watched where the settings need them") {
  ReconcilerSettings settings;
  settings.queues.rules.jobset_mode = JobSetMode::kNative;
  settings.group_scheduling = true;
  const auto watched = [&](const ResourceType& type) {
    for (const WatchedKind& kind : watched_kinds()) {
      if (*kind.type == type) return is_watched(kind, settings);
    }
    return false;
  };
  CHECK(watched(kServices));
  CHECK(watched(kPods));
  CHECK(watched(kWorkloads));
  CHECK_FALSE(watched(kQueuedPods));
  settings.queues.rules.frameworks = {"pod"};
  CHECK(watched(kQueuedPods));
  settings.queues.rules.jobset_mode = JobSetMode::kExternal;
  CHECK_FALSE(watched(kServices));
  settings.group_scheduling = false;
  CHECK_FALSE(watched(kPods));
  CHECK(watched(kWorkloads));
}

}  // namespace kind_feed_test
