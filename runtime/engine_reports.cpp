#include "runtime/engine_reports.h"

#include "runtime/log.h"
#include "runtime/serving.h"

namespace muster::runtime {
namespace {

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

void EngineReports::synced() {
  serving_->set_synced();
  log_info("synced with the API server");
}

void EngineReports::missing_kinds(const std::vector<std::string>& kinds, bool synced) {
  if (kinds.empty()) {
    log_info("the API server serves all kinds again");
    if (synced) return serving_->set_synced();
    return serving_->set_unsynced("not yet");
  }
  const std::string names = joined(kinds);
  serving_->set_unsynced("the API server does not serve " + names +
                         "; muster keeps the last known state of these objects, and makes no decisions");
  log_error(
      "a kind that muster needs is not served: nothing is started or stopped until it is; are the CRDs of this "
      "version installed?",
      {{"kinds", names}});
}

void EngineReports::kinds_behind(const std::vector<std::string>& kinds) {
  if (kinds.empty()) return log_info("the watches have caught up");
  log_debug("before it decides anything, a new leader waits until its watches have caught up",
            {{"kinds", joined(kinds)}});
}

void EngineReports::missing_webhooks(const std::vector<ObjectKey>& configurations) {
  metrics_.set_webhooks_missing(configurations.size());
  if (configurations.empty()) return log_info("the webhook configurations are there again");
  std::vector<std::string> names;
  for (const ObjectKey& key : configurations) names.push_back(to_text(key));
  log_warning(
      "webhook configurations are missing: jobs are not checked and not suspended at their creation, and muster "
      "suspends them only afterwards; apply the output of `muster manifests` again",
      {{"missing", joined(names)}});
}

void EngineReports::unsupported(const engine::UnsupportedFound& found) {
  log_warning("an object asks for what muster does not do; muster_unsupported_objects counts all of them",
              {{"object", to_text(found.object)}, {"what", found.unsupported.what}, {"note", found.unsupported.note}});
}

void EngineReports::breakage(const engine::Breakage& breakage) {
  metrics_.broke(engine::to_text(breakage.broke));
  log_error("muster failed over an object and leaves it alone until it changes; please report this",
            {{"object", breakage.key ? to_text(*breakage.key) : "none"},
             {"part", engine::to_text(breakage.broke)},
             {"where", breakage.where},
             {"what", breakage.what}});
}

void EngineReports::slow_step(const std::string& step, Duration took) {
  metrics_.slow_step();
  log_warning("a step of the engine was slow",
              {{"step", step}, {"seconds", std::chrono::duration<double>(took).count()}});
}

void EngineReports::stuck(const std::string& step) {
  log_error("the engine is stuck; this replica gives up its Lease", {{"step", step}});
  metrics_.set_stuck(true);
  serving_->set_sick("the engine is stuck; the log says where");
}

void EngineReports::goes_on() {
  log_warning("the engine continues");
  metrics_.set_stuck(false);
  serving_->set_sick("");
}

void EngineReports::recording_ended(const std::string& file, const std::string& why) {
  log_error("the recording has ended; muster continues without it, and records again after its next start",
            {{"file", file}, {"why", why}});
}

}  // namespace muster::runtime
