// What a person can list, read once into an engine that never leads: the ground of answers that are found on this
// machine, without muster.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/engine.h"
#include "kube/api.h"

namespace muster::commands {

class LocalReading {
 public:
  explicit LocalReading(const ReconcilerSettings& settings)
      : engine_({.keep_webhook_configurations = false, .reconcilers = settings}) {}

  // Every kind that muster watches and that is `wanted`; what can be listed in `ns` alone is read there. An error when
  // `asked`, the kind that it is about, cannot be listed at all, or no answer comes.
  Outcome<> read(kube::KubeApi& api, const ResourceType& asked, const std::string& ns,
                 const std::function<bool(const ResourceType&)>& wanted, Now now);

  const engine::Engine& engine() const { return engine_; }
  // The kinds that could not be read at all, and those that could only in the namespace, or of namespaces this one
  // only.
  const std::set<KindId>& missing() const { return missing_; }
  const std::set<KindId>& partial() const { return partial_; }
  // Sentences for the reader: that muster was not asked, and what was not seen.
  std::vector<std::string> notes() const;

 private:
  engine::Engine engine_;
  std::string ns_;
  std::set<KindId> missing_, partial_;
};

}  // namespace muster::commands
