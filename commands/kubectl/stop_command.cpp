#include "commands/kubectl/stop_command.h"

#include <CLI/CLI.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <ostream>

#include "api/codec/json.h"
#include "base/did_you_mean.h"
#include "commands/kubectl/dry_run.h"
#include "commands/kubectl/lists.h"
#include "commands/kubectl/workload_names.h"
#include "commands/terminal/cli_choice.h"
#include "jobs/naming/named_kind.h"

namespace muster::commands {
namespace {

using nlohmann::json;

// Of "job", "rayjob": a kind whose objects have Workloads; nullptr: none.
const ResourceType* job_type(std::string_view word) {
  const auto kind = jobs::find_named_kind(word);
  return kind && kind->job != nullptr && kind->known != jobs::NamedKind::Known::kNone ? kind->type : nullptr;
}

Result<std::string> parse_stoppable(std::string_view text) {
  if (stoppable_type(text) != nullptr || job_type(text) != nullptr) return std::string(text);
  static const std::vector<std::string> kKnown = {"clusterqueue", "localqueue", "workload"};
  return fail("\"" + std::string(text) +
              "\" cannot be stopped; clusterqueue, localqueue, workload and a kind of job can" +
              did_you_mean(text, kKnown));
}

std::string display(const ResourceType& type, const std::string& name) {
  std::string singular(type.plural);
  singular.pop_back();
  return singular + "." + std::string(type.group) + "/" + name;
}

void add_stop_flags(CLI::App& command, StopOptions& options, bool stops) {
  add_choice(command, "kind", options.kind, parse_stoppable,
             "clusterqueue, localqueue or workload; or the kind of a job, as job: its Workload is meant")
      ->required()
      ->type_name("")
      ->option_text("KIND");
  command.add_option("name", options.names, "One or several")->required()->type_name("")->option_text("NAME");
  if (stops)
    command.add_flag("--keep-already-running", options.keep_running,
                     "Admit nothing more, and evict nothing (stopPolicy Hold instead of HoldAndDrain)");
  add_dry_run(command, options.dry_run);
  add_cluster_flags(command, options.cluster);
  add_reader_flags(command, options.cluster);
}

// The Workloads that would be evicted, as far as this user can list them.
void print_evicted(MusterReader& reader, const StopOptions& options, const ResourceType& type, const std::string& name,
                   std::ostream& out) {
  ListQuestion question;
  if (type == kClusterQueues) question.cluster_queue = name;
  if (type != kClusterQueues) question.ns = reader.ns();
  if (type == kLocalQueues) question.local_queue = name;
  const auto fetched = fetch_list(reader, question, options.cluster.local);
  if (!fetched) {
    out << "  which workloads are evicted is not known: " << fetched.error().message << "\n";
    return;
  }
  const auto evicted = evicted_by_stop(fetched->list, type == kWorkloads ? std::string_view(name) : std::string_view());
  out << "  " << evicted.size() << (evicted.size() == 1 ? " workload is" : " workloads are") << " evicted"
      << (evicted.empty() ? "" : ":") << "\n";
  for (const std::string& workload : evicted) out << "    " << workload << "\n";
}

// What one name of the command line names, and the answer to the write about it.
struct Changed {
  std::string name;  // of the queue or Workload
  kube::KubeApi::Answer answer;
};

class Change {
 public:
  Change(MusterReader& reader, const StopOptions& options, bool stops)
      : api_(reader.api()),
        job_(stoppable_type(options.kind) == nullptr ? job_type(options.kind) : nullptr),
        type_(job_ == nullptr ? *stoppable_type(options.kind) : kWorkloads),
        ns_(type_.namespaced ? reader.ns() : ""),
        patch_(stops ? stop_patch(type_, options.keep_running) : resume_patch(type_)),
        dry_run_(dry_run_of(options.dry_run)) {}

  const ResourceType& type() const { return type_; }

  // A Workload can be named by its job.
  Result<Changed> run(const std::string& name) {
    if (job_ == nullptr) {
      auto answer = write(name);
      const bool is_missing = !answer && answer.error().code == 404 && &type_ == &kWorkloads;
      if (!is_missing) return Changed{name, std::move(answer)};
      const auto owned = find_workload_name(api_, ns_, name, nullptr);
      if (!owned) return Changed{name, std::move(answer)};
      return Changed{*owned, write(*owned)};
    }
    const auto owned = find_workload_name(api_, ns_, name, job_);
    if (!owned) return fail(owned.error().message);
    return Changed{*owned, write(*owned)};
  }

 private:
  // A dry run on this machine at least reads the object: a missing name is an error.
  kube::KubeApi::Answer write(const std::string& name) {
    const kube::Resource resource = kube::resource_of(type_);
    if (dry_run_ == DryRun::kClient) return api_.get(resource, ns_, name);
    return api_.patch_merge(resource, ns_, name, patch_,
                            {.field_manager = "kubectl-muster", .dry_run = dry_run_ == DryRun::kServer});
  }

  kube::KubeApi& api_;
  const ResourceType* job_;  // the kind of job that names Workloads
  const ResourceType& type_;
  const std::string ns_;
  const json patch_;
  const DryRun dry_run_;
};

int change(const StopOptions& options, bool stops, std::ostream& out, std::ostream& err) {
  const std::string command = stops ? "muster stop: " : "muster resume: ";
  const bool is_queue = stoppable_type(options.kind) != nullptr && stoppable_type(options.kind) != &kWorkloads;
  if (options.keep_running && !is_queue) {
    err << command << "--keep-already-running is for queues: a workload that is stopped is evicted\n";
    return 2;
  }
  auto reader = MusterReader::connect(options.cluster);
  if (!reader) {
    err << command << reader.error().message << "\n";
    return 1;
  }
  const DryRun dry_run = dry_run_of(options.dry_run);
  Change changes(**reader, options, stops);
  int code = 0;
  for (const std::string& name : options.names) {
    const auto changed = changes.run(name);
    if (!changed || !changed->answer) {
      err << command << (changed ? changed->answer.error().message : changed.error().message) << "\n";
      code = 1;
      continue;
    }
    out << display(changes.type(), changed->name) << (stops ? " stopped" : " resumed") << suffix_of(dry_run)
        << (changed->name == name ? "" : " (of " + name + ")") << "\n";
    if (stops && dry_run != DryRun::kNone && !options.keep_running)
      print_evicted(**reader, options, changes.type(), changed->name, out);
  }
  return code;
}

}  // namespace

const ResourceType* stoppable_type(std::string_view word) {
  static const std::map<std::string_view, const ResourceType*> kTypes = {{"clusterqueue", &kClusterQueues},
                                                                         {"clusterqueues", &kClusterQueues},
                                                                         {"cq", &kClusterQueues},
                                                                         {"localqueue", &kLocalQueues},
                                                                         {"localqueues", &kLocalQueues},
                                                                         {"lq", &kLocalQueues},
                                                                         {"queue", &kLocalQueues},
                                                                         {"queues", &kLocalQueues},
                                                                         {"workload", &kWorkloads},
                                                                         {"workloads", &kWorkloads},
                                                                         {"wl", &kWorkloads}};
  const auto found = kTypes.find(word);
  return found == kTypes.end() ? nullptr : found->second;
}

json stop_patch(const ResourceType& type, bool keep_running) {
  if (type == kWorkloads) return {{"spec", {{"active", false}}}};
  return {{"spec", {{"stopPolicy", keep_running ? "Hold" : "HoldAndDrain"}}}};
}

json resume_patch(const ResourceType& type) {
  if (type == kWorkloads) return {{"spec", {{"active", true}}}};
  return {{"spec", {{"stopPolicy", "None"}}}};
}

std::vector<std::string> evicted_by_stop(const json& workloads, std::string_view only_workload) {
  std::vector<std::string> evicted;
  for (const json& item : array_at(workloads, {"items"})) {
    const std::string_view state = string_at(item, {"state"}), name = string_at(item, {"name"});
    if (state != "Admitted" && state != "QuotaReserved") continue;
    if (!only_workload.empty() && name != only_workload) continue;
    evicted.push_back(std::string(string_at(item, {"namespace"})) + "/" + std::string(name));
  }
  return evicted;
}

void add_stop(CLI::App& app, StopOptions& options) {
  CLI::App& command = *app.add_subcommand(
      "stop", "Stop a queue or a Workload: its admitted Workloads are evicted; --dry-run lists them");
  add_stop_flags(command, options, true);
  command.footer(
      "Examples:\n  kubectl muster stop clusterqueue research --dry-run\n"
      "  kubectl muster stop localqueue team --keep-already-running\n"
      "  kubectl muster stop workload job-train-1a2b3\n  kubectl muster stop job train");
}

void add_resume(CLI::App& app, StopOptions& options) {
  CLI::App& command = *app.add_subcommand("resume", "Let a queue admit again, or activate a Workload again");
  add_stop_flags(command, options, false);
  command.footer("Examples:\n  kubectl muster resume clusterqueue research\n  kubectl muster resume job train");
}

int stop_queue(const StopOptions& options, std::ostream& out, std::ostream& err) {
  return change(options, true, out, err);
}

int resume_queue(const StopOptions& options, std::ostream& out, std::ostream& err) {
  return change(options, false, out, err);
}

}  // namespace muster::commands
