// Small integers for the names that quota is counted by. The ledger, flavor assignment and preemption compare and index
// integers only; names are used only in messages. Ids are never released: flavors and resources are few, and their
// names are used again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace muster {

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

  FlavorId flavor(std::string_view name) { return flavors_.id(name); }
  ResourceId resource(std::string_view name);
  QuotaId quota(FlavorId flavor, ResourceId resource);

  // Nullopt when the name is not known yet.
  std::optional<FlavorId> find_flavor(const std::string& name) const;
  const std::string& flavor_name(FlavorId id) const { return flavors_.names[id]; }
  const std::string& resource_name(ResourceId id) const { return resources_.names[id]; }
  Quota quota(QuotaId id) const { return quotas_[id]; }
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
  std::vector<uint64_t> visiting_order_;
  std::vector<Quota> quotas_;
  std::unordered_map<uint64_t, QuotaId> quota_ids_;
};

}  // namespace muster
