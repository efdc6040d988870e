// Descriptions of kinds, and what they find in objects: two YAML documents, a JobKind and an object of it. Whatever
// they are, the reader answers with a description or with errors that have sentences; and what is read of an object
// stays within its bounds, and is the same each time.
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "kinds/described_job.h"
#include "kinds/kind_hook.h"
#include "kinds/kind_schema.h"
#include "test/fuzz/require.h"

namespace muster {
namespace {

using nlohmann::json;

void check_paths(std::string_view text, const json& object) {
  const auto path = ValuePath::parse(text);
  if (!path.ok()) {
    REQUIRE_THAT(!path.error().message.empty());
    return;
  }
  REQUIRE_THAT(path->steps().size() <= ValuePath::kMostSteps);
  size_t visited = 0;
  path->for_each(object, [&](const json&) { return ++visited > 0; });
  REQUIRE_THAT(visited <= ValuePath::kMostElements);
  if (path->has_wildcard()) return;
  json copy = object;
  const bool set = path->set(copy, 7);
  REQUIRE_THAT(set == (path->find(copy) != nullptr && *path->find(copy) == 7) || path->find(object) != nullptr);
}

void check_object(const KindDescription& kind, const json& object) {
  const DescribedJobPtr job = read_described_job(kind, object);
  const DescribedJobPtr again = read_described_job(kind, object);
  REQUIRE_THAT(job->pod_sets.size() == again->pod_sets.size() && job->unreadable == again->unreadable);
  std::set<std::string_view> names;
  for (const DescribedPodSet& pod_set : job->pod_sets) {
    REQUIRE_THAT(pod_set.count >= 0);
    const bool is_new = names.insert(pod_set.name).second;
    REQUIRE_THAT(is_new || !job->unreadable.empty());
  }
  REQUIRE_THAT(job->pod_sets.size() <= KindDescription::kMostPodSets || !job->unreadable.empty());
  if (kind.hook == nullptr || kind.hook->consult == nullptr) return;
  DescribedJob consulted = *job;
  kind.hook->consult([&](const ConsultedKind&, std::string_view) { return &object; }, consulted);
  check_pod_sets(consulted);
  REQUIRE_THAT(consulted.pod_sets.size() <= KindDescription::kMostPodSets || !consulted.unreadable.empty());
}

void check(std::string_view text) {
  const auto documents = read_yaml(text);
  if (!documents.ok() || documents->empty()) return;
  const json object = documents->size() > 1 ? (*documents)[1].value : json();
  check_paths(text.substr(0, text.find('\n')), object);
  const auto kind = read_kind_description(documents->front().value);
  if (!kind.ok()) {
    REQUIRE_THAT(!kind.error().empty());
    for (const FieldError& error : kind.error()) REQUIRE_THAT(!error.detail.empty());
  } else {
    check_object(**kind, object);
    (void)contradictions(**kind, object);
  }
  for (const KindDescriptionPtr& known : described_kinds()) check_object(*known, object);
}

}  // namespace
}  // namespace muster

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  muster::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
