// `muster manifests`: prints what installs muster, from the same tables that it runs by.
#pragma once

#include <iosfwd>
#include <string>

#include "api/config/muster_settings.h"

namespace CLI {
class App;
}

namespace muster::commands {

struct ManifestsOptions {
  std::string only = "all";
  std::string config_file;
  std::string webhook_url;
  std::string own_namespace;  // empty: muster-system
  std::string image;
  // As for `muster serve`; each changes what is printed, and is handed on to the Deployment.
  GivenSettings given;
  bool serves_v1beta1 = false;

  bool operator==(const ManifestsOptions&) const = default;
};

void add_manifests(CLI::App& app, ManifestsOptions& options);

// Returns the exit code: 0, or 2 with the reason on `err`.
int print_manifests(const ManifestsOptions& options, std::ostream& out, std::ostream& err);

}  // namespace muster::commands
