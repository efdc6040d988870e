#include "kinds/unqueued_kinds.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

namespace unqueued_kinds_test {

using namespace muster;
using nlohmann::json;

namespace {

const json kLabelled = {{"labels", {{"kueue.x-k8s.io/queue-name", "main"}}}};

json object(const char* api_version, const char* kind, json metadata, json spec = json::object()) {
  metadata["name"] = "x";
  return {{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}, {"spec", std::move(spec)}};
}

}  // namespace

TEST_CASE("unqueued kinds: each stands in the table once and is found by its names") {
  std::set<std::string> resources;
  for (const UnqueuedKind& kind : unqueued_kinds()) {
    INFO(std::string(kind.kind));
    CHECK(resources.insert(std::string(kind.group) + "/" + std::string(kind.resource)).second);
    CHECK(find_unqueued_kind(kind.group, kind.kind) == &kind);
    CHECK(find_unqueued_kind(kind.kind) == &kind);
    CHECK(find_unqueued_kind(kind.resource) == &kind);
    CHECK(std::none_of(kind.resource.begin(), kind.resource.end(), [](char c) { return c >= 'A' && c <= 'Z'; }));
  }
  CHECK(find_unqueued_kind("rayjob") == find_unqueued_kind("ray.io", "RayJob"));
  CHECK(find_unqueued_kind("batch", "Job") == nullptr);
  CHECK(find_unqueued_kind("job") == nullptr);
  CHECK(find_unqueued_kind("jobset") == nullptr);
  CHECK(find_unqueued_kind("") == nullptr);
}

TEST_CASE("unqueued kinds: an object is told of when it is the first to ask for a queue") {
  const json owned = {
      {"labels", {{"kueue.x-k8s.io/podset", "main"}}},
      {"ownerReferences",
       {{{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", "j"}, {"uid", "u"}, {"controller", true}}}}};
  json referenced = owned;
  referenced["ownerReferences"][0].erase("controller");
  const json in_template = {{"template", {{"metadata", kLabelled}}}};
  struct Row {
    const char* name;
    json object, old_object;
    bool told;
  };
  const Row rows[] = {
      {"a Pod with a queue", object("v1", "Pod", kLabelled), nullptr, true},
      {"any version of a kind", object("ray.io/v9", "RayJob", kLabelled), nullptr, true},
      {"an annotation of muster's", object("apps/v1", "Deployment", {{"annotations", {{"muster.batch/x", "1"}}}}),
       nullptr, true},
      {"a queue in the pod template alone", object("apps/v1", "StatefulSet", json::object(), in_template), nullptr,
       true},
      {"no key of ours", object("v1", "Pod", {{"labels", {{"app", "x"}, {"kueue.x-k8s.io.example/q", "x"}}}}), nullptr,
       false},
      {"a Pod of a Job", object("v1", "Pod", owned), nullptr, false},
      {"an owner that is no controller", object("v1", "Pod", referenced), nullptr, true},
      {"a Job", object("batch/v1", "Job", kLabelled), nullptr, false},
      {"a kind of that name in another group", object("example.com/v1", "RayJob", kLabelled), nullptr, false},
      {"an update that brings the label", object("v1", "Pod", kLabelled), object("v1", "Pod", json::object()), true},
      {"an update that leaves it", object("v1", "Pod", kLabelled), object("v1", "Pod", kLabelled), false},
      {"an update that takes it away", object("v1", "Pod", json::object()), object("v1", "Pod", kLabelled), false},
      {"an object that is being deleted",
       object("v1", "Pod", {{"labels", kLabelled["labels"]}, {"deletionTimestamp", "2026-01-01T00:00:00Z"}}), nullptr,
       false},
      {"labels that are no map", object("v1", "Pod", {{"labels", 7}}), nullptr, false},
      {"nothing", nullptr, nullptr, false},
  };
  for (const Row& row : rows) {
    INFO(std::string(row.name));
    const auto notice = unqueued_notice(row.object, row.old_object);
    CHECK(notice.has_value() == row.told);
    if (notice) CHECK(*notice == unqueued_sentence(row.object["kind"].get<std::string>()));
  }
}

TEST_CASE("unqueued kinds: a CronJob is told of when its Jobs do not get the label") {
  const json in_jobs = {{"jobTemplate", {{"metadata", kLabelled}}}};
  const json in_pods = {{"jobTemplate", {{"spec", {{"template", {{"metadata", kLabelled}}}}}}}};
  const json misplaced = object("batch/v1", "CronJob", kLabelled);
  CHECK(unqueued_notice(misplaced, nullptr) == std::string(kCronJobSentence));
  CHECK(unqueued_notice(object("batch/v1", "CronJob", kLabelled, in_pods), nullptr).has_value());
  CHECK(unqueued_notice(misplaced, object("batch/v1", "CronJob", json::object())).has_value());
  CHECK_FALSE(unqueued_notice(misplaced, misplaced).has_value());
  CHECK_FALSE(unqueued_notice(object("batch/v1", "CronJob", kLabelled, in_jobs), nullptr).has_value());
  CHECK_FALSE(unqueued_notice(object("batch/v1", "CronJob", json::object(), in_jobs), nullptr).has_value());
  const json other = {{"labels", {{"kueue.x-k8s.io/priority-class", "high"}}}};
  CHECK_FALSE(unqueued_notice(object("batch/v1", "CronJob", other), nullptr).has_value());
  CHECK_FALSE(unqueued_notice(object("example.com/v1", "CronJob", kLabelled), nullptr).has_value());
  // What has the wrong shape has no label.
  CHECK(unqueued_notice(object("batch/v1", "CronJob", kLabelled, {{"jobTemplate", 7}}), nullptr).has_value());
}

TEST_CASE("unqueued kinds: Kueue sends all kinds to other clusters but Deployments and SparkApplications") {
  std::set<std::string_view> without;
  for (const UnqueuedKind& kind : unqueued_kinds()) {
    if (!kind.framework.empty() && !kind.has_multikueue_adapter) without.insert(kind.framework);
  }
  CHECK(without == std::set<std::string_view>{"deployment", "sparkoperator.k8s.io/sparkapplication"});
}

TEST_CASE("unqueued kinds: the sentence is one line that fits into a warning") {
  for (const UnqueuedKind& kind : unqueued_kinds()) {
    const std::string sentence = unqueued_sentence(kind.kind);
    CHECK(sentence.size() <= 256);
    CHECK(sentence.find_first_of("\n'\\") == std::string::npos);  // it becomes CEL
    CHECK(sentence.find(kind.kind) != std::string::npos);
  }
  CHECK(kCronJobSentence.size() <= 256);
  CHECK(kCronJobSentence.find_first_of("\n'\\") == std::string_view::npos);
}

}  // namespace unqueued_kinds_test
