#include "scheduler/quota/names.h"

#include "base/fnv.h"

namespace muster::scheduler {
namespace {

// Users read it in a message in the place of a resource's name.
constexpr std::string_view kSharedName = "(one of thousands that no ClusterQueue has)";

uint64_t key_of(FlavorId flavor, ResourceId resource) {
  return (uint64_t{flavor} << 32) | resource;
}

}  // namespace

// Ids are never given back, because amounts everywhere are kept by id.
uint32_t QuotaIdTable::Table::id(std::string_view name) {
  const auto [it, added] = ids.try_emplace(std::string(name), static_cast<uint32_t>(names.size()));
  if (added) names.emplace_back(name);
  return it->second;
}

// The order is Kueue's: that of a hash, so it is the same in every process.
ResourceId QuotaIdTable::resource(std::string_view name) {
  const ResourceId id = resources_.id(name);
  if (id < visiting_order_.size()) return id;
  visiting_order_.push_back(fnv1a_64(name));
  has_late_names_ = has_late_names_ || shared_.has_value();
  return id;
}

ResourceId QuotaIdTable::requested(std::string_view name) {
  if (resources_.names.size() < kMostResources || resources_.ids.contains(std::string(name))) return resource(name);
  if (!shared_) shared_ = resource(kSharedName);
  return *shared_;
}

// For questions, which must not add names.
std::optional<FlavorId> QuotaIdTable::find_flavor(const std::string& name) const {
  const auto found = flavors_.ids.find(name);
  return found == flavors_.ids.end() ? std::nullopt : std::optional(found->second);
}

QuotaId QuotaIdTable::quota(FlavorId flavor, ResourceId resource) {
  const auto [it, added] = quota_ids_.try_emplace(key_of(flavor, resource), static_cast<QuotaId>(quotas_.size()));
  if (added) quotas_.push_back({flavor, resource});
  return it->second;
}

}  // namespace muster::scheduler
