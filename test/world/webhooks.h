// muster's own webhooks in front of the simulated API server: the chain of mutators and
// the table of validators, called as the server calls them.
//
// What they know of the cluster is what an engine has published, or an empty view.
#pragma once

#include <functional>

#include "api/config/rule_settings.h"
#include "api/review/cluster_view.h"
#include "test/world/api_server.h"

namespace muster::world {

class Webhooks final : public Admission {
 public:
  // `view` is asked for each request; while it gives null, muster does not answer, and
  // no job passes.
  Webhooks(RuleSettings settings, std::function<ClusterViewPtr()> view);

  bool concerns(const ResourceType& type, Operation operation) const override;
  std::optional<Refusal> mutate(const AdmissionRequest& request, nlohmann::json& object) override;
  std::optional<Refusal> validate(const AdmissionRequest& request) override;

 private:
  bool is_queued_pod(const AdmissionRequest& request) const;
  bool is_spared(const AdmissionRequest& request) const;

  const RuleSettings settings_;
  const std::function<ClusterViewPtr()> view_;
};

}  // namespace muster::world
