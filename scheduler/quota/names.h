// Small integers for the names that quota is counted by. The ledger, flavor assignment and preemption compare and index
// integers only; names are used only in messages. Ids are never released: the names of quotas are few and are used
// again, and only a bounded number of other names, which users choose, gets an id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace muster::scheduler {

using FlavorId = uint32_t;
using ResourceId = uint32_t;
// One resource of one flavor: what a limit, a usage or a request is about.
using QuotaId = uint32_t;

class QuotaIdTable {
 public:
  struct Quota {
    FlavorId flavor;
    ResourceId resource;
  };

  // A user can request resources of any name. When there are this many names, new ones share one id.
  static constexpr size_t kMostResources = 4096;

  FlavorId flavor(std::string_view name) { return flavors_.id(name); }
  // Of a quota.
  ResourceId resource(std::string_view name);
  // Of a request.
  ResourceId requested(std::string_view name);
  // Whether a quota has got a name, since the last call, that earlier requests possibly shared with others. Then the
  // requests are to be read again.
  bool take_late_names() { return std::exchange(has_late_names_, false); }
  QuotaId quota(FlavorId flavor, ResourceId resource);

  // Nullopt when the name is not known yet.
  std::optional<FlavorId> find_flavor(const std::string& name) const;
  const std::string& flavor_name(FlavorId id) const { return flavors_.names[id]; }
  const std::string& resource_name(ResourceId id) const { return resources_.names[id]; }
  Quota quota(QuotaId id) const { return quotas_[id]; }
  size_t resource_count() const { return resources_.names.size(); }
  size_t flavor_count() const { return flavors_.names.size(); }

  // The 64-bit FNV-1a hash of a resource's name: pod sets visit their resources in its order, which selects the
  // reported refusal when several resource groups refuse (as Kueue does).
  uint64_t visiting_order(ResourceId id) const { return visiting_order_[id]; }

 private:
  struct Table {
    std::vector<std::string> names;
    std::unordered_map<std::string, uint32_t> ids;

    uint32_t id(std::string_view name);
  };
  Table flavors_, resources_;
  std::optional<ResourceId> shared_;
  bool has_late_names_ = false;
  std::vector<uint64_t> visiting_order_;
  std::vector<Quota> quotas_;
  std::unordered_map<uint64_t, QuotaId> quota_ids_;
};

}  // namespace muster::scheduler
