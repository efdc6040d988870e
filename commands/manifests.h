// `muster manifests`: prints what installs muster, from the same tables that it runs by.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace muster {

struct ManifestsOptions {
  std::string only = "all";
  std::string config_file;
  std::string webhook_url;
  std::string own_namespace;  // empty: muster-system
  std::string image;
  // As for `muster serve`; each changes the rights, and is handed on to the Deployment.
  std::optional<std::string> jobset_controller;
  std::optional<bool> group_scheduling;
  std::optional<std::string> unqueued_kinds;
  std::optional<bool> aggregated_visibility;
  bool serves_v1beta1 = true;

  bool operator==(const ManifestsOptions&) const = default;
};

void add_manifests(CLI::App& app, ManifestsOptions& options);

// Returns the exit code: 0, or 2 with the reason on `err`.
int print_manifests(const ManifestsOptions& options, std::ostream& out, std::ostream& err);

}  // namespace muster
