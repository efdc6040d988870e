#include "jobs/naming/named_kind.h"

#include <algorithm>
#include <deque>

#include "api/meta/names.h"
#include "base/ascii.h"
#include "base/did_you_mean.h"
#include "kinds/serving_types.h"
#include "kinds/unqueued_kinds.h"

namespace muster::jobs {
namespace {

using Known = NamedKind::Known;

constexpr ResourceType kCronJobs{"batch", "v1", "cronjobs", "CronJob", true, "batch/v1"};

// Kubernetes' own and Kueue's; those of described kinds are not known.
std::string_view short_name_of(const ResourceType& type) {
  struct Row {
    std::string_view kind, name;
  };
  static constexpr Row kRows[] = {
      {"Pod", "po"},           {"Deployment", "deploy"}, {"StatefulSet", "sts"}, {"LeaderWorkerSet", "lws"},
      {"CronJob", "cj"},       {"ReplicaSet", "rs"},     {"DaemonSet", "ds"},    {"ReplicationController", "rc"},
      {kWorkloads.kind, "wl"},
  };
  for (const Row& row : kRows) {
    if (row.kind == type.kind) return row.name;
  }
  return {};
}

// Kinds that neither Kueue nor muster queues: what they make is queued.
const std::deque<ResourceType>& unqueued_types() {
  static const std::deque<ResourceType> kTypes = [] {
    std::deque<ResourceType> types = {kCronJobs};
    static std::deque<std::string> versions;
    for (const UnqueuedKind& kind : unqueued_kinds()) {
      if (!kind.framework.empty()) continue;
      const std::string group(kind.group);
      const std::string& version =
          versions.emplace_back((group.empty() ? "" : group + "/") + std::string(kind.version));
      types.push_back({kind.group, kind.version, kind.resource, kind.kind, true, version});
    }
    return types;
  }();
  return kTypes;
}

NamedKind named(const JobKind& kind) {
  if (&kind == &plain_pod) return {&kPods, &kind, Known::kOnlyInQueue};
  return {&kind.type, &kind, &kind == &deployment ? Known::kNone : Known::kAll};
}

// "jobs", "jobs.batch" or "jobs.v1.batch", as kubectl has it.
bool is_word_for(std::string_view word, const ResourceType& type) {
  for (const std::string& name : {std::string(type.plural), in_small_letters(type.kind)}) {
    if (word == name) return true;
    if (type.group.empty() || !word.starts_with(name + ".")) continue;
    const std::string_view rest = word.substr(name.size() + 1);
    if (rest == type.group || rest == std::string(type.version) + "." + std::string(type.group)) return true;
  }
  return false;
}

}  // namespace

std::string NamedKind::singular() const {
  return in_small_letters(type->kind);
}

std::vector<NamedKind> named_kinds() {
  std::vector<NamedKind> kinds = {named(batch_job), named(jobset), {.type = &kWorkloads}};
  const auto add = [&](const auto& wanted) {
    for (const JobKind* kind : job_kinds()) {
      if (kind != &batch_job && kind != &jobset && wanted(*kind)) kinds.push_back(named(*kind));
    }
  };
  // A job of a described kind makes objects with its own name, and pods: it comes before them.
  add([](const JobKind& kind) { return !kind.has_own_reconciler() && !kind.is_serving(); });
  add([](const JobKind& kind) { return kind.has_own_reconciler() || kind.is_serving(); });
  for (const ResourceType& type : unqueued_types()) kinds.push_back({.type = &type, .known = Known::kNone});
  for (NamedKind& kind : kinds) kind.short_name = short_name_of(*kind.type);
  return kinds;
}

std::optional<NamedKind> find_named_kind(std::string_view word) {
  const std::string small = in_small_letters(word);
  if (small.empty()) return std::nullopt;
  for (const NamedKind& kind : named_kinds()) {
    if (small == kind.short_name || is_word_for(small, *kind.type)) return kind;
  }
  return std::nullopt;
}

std::optional<NamedKind> find_named_kind(const ResourceType& type) {
  for (const NamedKind& kind : named_kinds()) {
    if (kind.type->group == type.group && kind.type->kind == type.kind) return kind;
  }
  return std::nullopt;
}

std::vector<std::string> named_kinds_with_groups() {
  std::vector<std::string> names;
  for (const NamedKind& kind : named_kinds())
    names.push_back(std::string(kind.type->kind) + "." + std::string(kind.type->group));
  return names;
}

std::vector<std::string> named_kind_words() {
  std::vector<std::string> words;
  for (const NamedKind& kind : named_kinds()) words.push_back(kind.singular());
  return words;
}

std::string no_such_kind(std::string_view word) {
  const std::vector<std::string> words = named_kind_words();
  return "muster knows no kind \"" + std::string(word) + "\"; the kinds are " + join(words, ", ") +
         did_you_mean(word, words);
}

}  // namespace muster::jobs
