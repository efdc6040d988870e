// Flags of `muster serve`; an unset optional leaves it to the configuration file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "runtime/load_settings.h"
#include "runtime/log.h"
#include "runtime/recording/file_recorder.h"

namespace muster::commands {

struct ServeFlags {
  runtime::SettingsFlags settings;

  std::string kubeconfig, context;
  bool standalone = false;    // no cluster: rules see nothing beyond the review
  std::string own_namespace;  // empty: the pod's, else muster-system

  std::optional<std::string> webhook_bind_address, health_probe_bind_address, metrics_bind_address;
  std::string webhook_url;  // kept in the webhook configurations instead of the Service
  bool keep_webhook_configurations = true;
  bool metrics_authorization = true;
  bool start_estimates = true;  // when pending Workloads start, for readers
  std::optional<std::string> cert_dir;
  int workers = 0;  // 0: as many as the machine has cores, at least 2
  Duration shutdown_delay{};
  std::string record_file;  // empty: nothing is recorded
  uint64_t record_limit = runtime::RecordingOptions::kDefaultLimit;

  runtime::LogLevel log_level = runtime::LogLevel::kInfo;
  std::vector<std::string> notes;  // of flags that have no effect here
};

}  // namespace muster::commands
