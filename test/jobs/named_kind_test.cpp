#include "jobs/naming/named_kind.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/ascii.h"
#include "kinds/serving_types.h"
#include "kinds/unqueued_kinds.h"

namespace muster::jobs::named_kind_test {
namespace {

TEST_CASE("named kinds: all kinds that are queued are in the table once, and each word means one of them") {
  std::set<std::string> kinds, words;
  for (const NamedKind& kind : named_kinds()) {
    const ResourceType& type = *kind.type;
    const std::string plural(type.plural), singular = in_small_letters(type.kind), group(type.group);
    INFO(singular);
    CHECK(kinds.insert(group + "/" + singular).second);
    std::vector<std::string> forms = {plural, singular, std::string(type.kind), kind.singular()};
    if (!kind.short_name.empty()) forms.emplace_back(kind.short_name);
    if (!group.empty()) {
      for (const std::string& name : {plural, singular, std::string(type.kind)})
        forms.insert(forms.end(), {name + "." + group, name + "." + std::string(type.version) + "." + group});
    }
    for (const std::string& form : forms) {
      INFO(form);
      const auto found = find_named_kind(form);
      REQUIRE(found);
      CHECK(found->type == kind.type);
    }
    CHECK(words.insert(singular).second);
    CHECK(words.insert(plural).second);
    // The kind of the API server, whose rights count.
    CHECK(plural == type.plural);
  }
  for (const JobKind* kind : job_kinds())
    CHECK(kinds.contains(std::string(kind->type.group) + "/" + in_small_letters(kind->type.kind)));
  for (const UnqueuedKind& kind : unqueued_kinds())
    CHECK(kinds.contains(std::string(kind.group) + "/" + in_small_letters(kind.kind)));
  CHECK(kinds.contains("batch/cronjob"));
  CHECK(kinds.contains("kueue.x-k8s.io/workload"));
}

TEST_CASE("named kinds: other words and other groups are none") {
  for (const char* word :
       {"", "secret", "jobs.example.com", "jobs.", "job.v2.batch", ".batch", "pods.apps", "jobs.batch.x"}) {
    INFO(word);
    CHECK_FALSE(find_named_kind(word));
  }
  CHECK(no_such_kind("rayjop").find("did you mean \"rayjob\"?") != std::string::npos);
}

TEST_CASE("named kinds: a job comes before what it makes under its own name") {
  const std::vector<std::string> words = named_kind_words();
  const auto place = [&](const char* word) { return std::find(words.begin(), words.end(), word) - words.begin(); };
  CHECK(words[0] == "job");
  CHECK(words[1] == "jobset");
  CHECK(words[2] == "workload");
  CHECK(place("rayjob") < place("pod"));
  CHECK(place("pod") < place("replicaset"));
  CHECK(find_named_kind("pod")->type == &kPods);
  CHECK(find_named_kind("pod")->job == &plain_pod);
  CHECK(find_named_kind("deployment")->known == NamedKind::Known::kNone);
  CHECK(find_named_kind(kStatefulSets)->known == NamedKind::Known::kAll);
}

}  // namespace
}  // namespace muster::jobs::named_kind_test
