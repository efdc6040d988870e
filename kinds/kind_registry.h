// The kinds that muster knows, as one value: those with code, the rows that are built in, and the kinds of a
// configuration. Immutable, so that threads share it without a lock, and what it hands out lives as long as it does.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "api/meta/field_error.h"
#include "api/meta/resource_type.h"
#include "base/result.h"
#include "kinds/watched_kinds.h"

namespace muster {

struct KindDescription;
using KindDescriptionPtr = std::shared_ptr<const KindDescription>;

class KindRegistry {
 public:
  using Ptr = std::shared_ptr<const KindRegistry>;

  // Without a configuration's kinds.
  static const Ptr& built_in();
  // With an administrator's own kinds. The errors name the item as kinds[0]: a kind, a framework or a resource of the
  // same group that is known already. A description that is built in, with the same text, adds nothing.
  static Result<Ptr, FieldErrors> with(std::span<const KindDescriptionPtr> own);

  // Those that are built in, in the order of their frameworks, then the configuration's.
  std::span<const KindDescriptionPtr> described() const { return described_; }
  std::span<const WatchedKind> watched() const { return watched_; }
  // nullptr: no such kind is described.
  const KindDescription* find_described(std::string_view group, std::string_view kind) const;
  // The type of a kind that a described kind consults; nullptr: none does.
  const ResourceType* find_consulted(std::string_view group, std::string_view kind) const;
  // Jobs, JobSets, pods, serving kinds, and what is described.
  std::vector<const ResourceType*> queued_types() const;
  bool queues(std::string_view group, std::string_view resource) const;

 private:
  explicit KindRegistry(std::vector<KindDescriptionPtr> described);
  // Whether muster watches a resource for itself, or queues it.
  bool has_resource(std::string_view group, std::string_view resource) const;

  std::vector<KindDescriptionPtr> described_;
  std::vector<WatchedKind> watched_;
};

// The registry of this process: built_in() until one is registered.
const KindRegistry& registered_kinds();
// Before any other thread runs. Called by jobs::register_kinds(), with the kinds of jobs that belong to it, which keeps
// the registry before it: what that has handed out stays valid.
void set_registered_kinds(KindRegistry::Ptr kinds);

}  // namespace muster
