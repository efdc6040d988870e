#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <set>

#include "api/codec/json.h"
#include "api/codec/yaml.h"
#include "api/meta/constants.h"
#include "api/meta/owner_reference.h"
#include "commands/kubectl/explain_token.h"
#include "commands/moving/moving_commands.h"
#include "commands/moving/read_cluster.h"
#include "commands/moving/rules/dump_parts.h"
#include "commands/moving/rules/redact.h"
#include "commands/moving/with_cluster.h"
#include "jobs/job_kind.h"
#include "manifests/schema.h"
#include "runtime/version.h"

namespace muster::commands {
namespace {

using nlohmann::json;

constexpr size_t kMostLogBytes = 8 * 1024 * 1024;       // of each pod
constexpr size_t kMostMetricsBytes = 64 * 1024 * 1024;  // the same
constexpr size_t kMostLatePods = 1000, kMostLateNamespaces = 20;

// The definitions of muster's own kinds, and of those that it queues.
void add_definitions(std::vector<Reading>& readings) {
  std::set<std::string> names;
  for (const manifests::DefinedKind& kind : manifests::defined_kinds())
    names.emplace(string_at(*kind.definition, {"metadata", "name"}));
  for (const jobs::JobKind* kind : jobs::job_kinds()) {
    // Kubernetes' own groups have no dot.
    if (kind->type.group.find('.') != std::string_view::npos)
      names.insert(std::string(kind->type.plural) + "." + std::string(kind->type.group));
  }
  for (const std::string& name : names)
    readings.push_back({kube::resource_of(kCustomResourceDefinitions), named(name)});
}

std::vector<Reading> sysdump_readings(const std::string& ns) {
  const std::string own = std::string(manifests::kAppNameLabel) + "=" + std::string(manifests::kAppName);
  std::vector<Reading> readings = component_readings();
  for (const ResourceType* type : {&kClusterQueues, &kCohorts, &kLocalQueues, &kResourceFlavors, &kAdmissionChecks,
                                   &kWorkloadPriorityClasses, &kWorkloads, &kJobSets})
    readings.push_back({kube::resource_of(*type)});
  readings.push_back({kube::resource_of(kJobs), {.label_selector = "kueue.x-k8s.io/queue-name"}});
  readings.push_back({{"apps", "v1", "deployments", true, "Deployment"}, {.ns = ns, .label_selector = own}});
  readings.push_back({kube::resource_of(kPods), {.ns = ns, .label_selector = own}});
  readings.push_back({kube::resource_of(kConfigMaps), {.ns = ns, .label_selector = own}});
  readings.push_back({{"events.k8s.io", "v1", "events", true, "Event"}});
  readings.push_back({{"", "v1", "nodes", false, "Node"}});
  add_definitions(readings);
  return readings;
}

using Files = std::vector<std::pair<std::string, std::string>>;

json part_of(const json& object) {
  const std::string_view kind = string_at(object, {"kind"});
  if (kind == "CustomResourceDefinition") return definition_summary(object);
  return kind == "Node" ? node_summary(redacted(object)) : redacted(object);
}

// One file for each kind.
Files files_of(const ClusterDump& dump) {
  std::map<std::string, json> kinds;
  for (const auto& entry : dump.objects()) {
    const json& object = entry.second;
    const std::string_view group = group_of(string_at(object, {"apiVersion"}));
    std::string name = std::string(string_at(object, {"kind"})) + (group.empty() ? "" : "." + std::string(group));
    json& list = kinds[name + ".yaml"];
    if (list.is_null()) list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", json::array()}};
    list["items"].push_back(part_of(object));
  }
  Files files;
  for (const auto& [name, list] : kinds) files.emplace_back(name, write_yaml(list));
  std::string unread;
  for (const auto& [what, why] : dump.unread()) unread += what + ": " + why + "\n";
  if (!unread.empty()) files.emplace_back("not-read.txt", unread);
  return files;
}

struct Streamed {
  std::string text;  // also what came before an error
  Outcome<kube::StatusError> done;
};

// Reads until the answer ends or has `most_bytes`.
Streamed read_text(kube::KubeApi& api, const kube::KubeRequest& request, size_t most_bytes) {
  std::string text;
  auto done = api.stream(request,
                         [&](std::string_view bytes) {
                           text += bytes;
                           return text.size() < most_bytes;
                         },
                         {});
  return {std::move(text), std::move(done)};
}

void add_logs(kube::KubeApi& api, const ClusterDump& dump, Files& files) {
  for (const json* pod : dump.of_kind("", "Pod")) {
    const std::string name(string_at(*pod, {"metadata", "name"}));
    for (const bool previous : {false, true}) {
      kube::KubeRequest request;
      request.path =
          kube::object_path(kube::resource_of(kPods), string_at(*pod, {"metadata", "namespace"}), name, "log");
      request.query = {{"container", "muster"}, {"limitBytes", std::to_string(kMostLogBytes)}};
      if (previous) request.query.emplace_back("previous", "true");
      auto [text, done] = read_text(api, request, kMostLogBytes);
      if (!done && previous) continue;  // it has not been restarted
      if (!done) text += "not read: " + done.error().message + "\n";
      files.emplace_back(std::string(previous ? "previous-" : "log-") + name.substr(0, 80) + ".txt", text);
    }
  }
}

// The port that its container names so; the manifests' own where it names none.
std::string metrics_port(const json& pod) {
  for (const json& container : array_at(pod, {"spec", "containers"})) {
    for (const json& port : array_at(container, {"ports"})) {
      if (string_at(port, {"name"}) == manifests::kMetricsPortName)
        return std::to_string(int_at(port, {"containerPort"}).value_or(0));
    }
  }
  return "8443";
}

// Through the API server, by the caller's rights on pods/proxy. The API server does not pass the caller's credentials
// on, and they are not for muster either: muster is shown a token that only muster accepts.
Result<std::string> metrics_of(kube::KubeApi& api, const json& pod, const std::string& token) {
  kube::KubeRequest request;
  request.path = kube::object_path(
      kube::resource_of(kPods), string_at(pod, {"metadata", "namespace"}),
      "https:" + std::string(string_at(pod, {"metadata", "name"})) + ":" + metrics_port(pod), "proxy/metrics");
  request.headers = {{kExplainTokenHeader, token}};
  request.accept = "text/plain";
  auto [text, done] = read_text(api, request, kMostMetricsBytes);
  if (!done) return fail(done.error().message);
  if (text.size() >= kMostMetricsBytes) text += "\n# cut here: muster sysdump keeps no more of a pod\n";
  return text;
}

// Metrics of each replica. What could not be read is added to the dump's list of that.
void add_metrics(kube::KubeApi& api, const ClusterFlags& flags, ClusterDump& dump, Files& files) {
  const std::vector<const json*>& pods = dump.of_kind("", "Pod");
  if (pods.empty()) return dump.add_unread("metrics", "there is no pod of muster in " + flags.muster_namespace);
  const std::string account =
      flags.service_account.empty() ? std::string(manifests::kExplainAccountName) : flags.service_account;
  const auto token = make_explain_token(api, account, flags.muster_namespace);
  if (!token) return dump.add_unread("metrics", token.error().message);
  for (const json* pod : pods) {
    const std::string name(string_at(*pod, {"metadata", "name"}));
    auto text = metrics_of(api, *pod, token->token);
    if (text)
      files.emplace_back("metrics-" + name.substr(0, 80) + ".txt", std::move(*text));
    else
      dump.add_unread("metrics of pod " + name, text.error().message + " (asked as " + token->account + ")");
  }
}

// The pods of jobs that are admitted and not ready, which most reports are about.
void add_late_pods(kube::KubeApi& api, ClusterDump& dump, Files& files) {
  std::vector<Reading> readings;
  const std::set<std::string> namespaces = namespaces_of_late_jobs(dump);
  for (const std::string& ns : namespaces) {
    if (readings.size() >= 2 * kMostLateNamespaces) break;
    for (const std::string_view label : {kPodSetLabel, kManagedLabel})
      readings.push_back({kube::resource_of(kPods), {.ns = ns, .label_selector = std::string(label)}});
  }
  if (namespaces.size() > kMostLateNamespaces)
    dump.add_unread("pods of late jobs", "only those of " + std::to_string(kMostLateNamespaces) + " of " +
                                             std::to_string(namespaces.size()) + " namespaces were read");
  ClusterDump pods;
  if (auto read = read_into(api, readings, pods); !read) dump.add_unread("pods of late jobs", read.error().message);
  for (const auto& [what, why] : pods.unread()) dump.add_unread("pods of late jobs", why);
  json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", json::array()}};
  size_t late = 0;
  for (const json* pod : pods.of_kind("", "Pod")) {
    if (is_late(*pod) && ++late <= kMostLatePods) list["items"].push_back(late_pod_summary(*pod));
  }
  if (late > kMostLatePods)
    dump.add_unread("pods of late jobs",
                    "only " + std::to_string(kMostLatePods) + " of " + std::to_string(late) + " were written");
  if (late > 0) files.emplace_back("late-pods.yaml", write_yaml(list));
}

Outcome<> write(const std::string& target, const Files& files) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists(target, error)) return fail(target + " is there already; name another");
  const bool tar = target.ends_with(".tar");
  if (!tar && !fs::create_directories(target, error)) return fail(target + " cannot be made: " + error.message());
  const Files written = tar ? Files{{target, tar_of(files)}} : files;
  for (const auto& [name, text] : written) {
    const fs::path path = tar ? fs::path(name) : fs::path(target) / name;
    std::ofstream file(path, std::ios::binary);
    // Before the file has any content that other users could read.
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write, error);
    if (error) return fail(path.string() + " cannot be kept from others: " + error.message());
    file << text;
    if (!file.flush()) return fail(path.string() + " cannot be written");
  }
  return Done{};
}

}  // namespace

void add_sysdump(CLI::App& app, SysdumpFlags& flags) {
  CLI::App& command =
      *app.add_subcommand("sysdump", "Write what a bug report needs into a folder or a .tar; no Secrets");
  command.add_option("target", flags.target, "A new folder, or FILE.tar")
      ->required()
      ->type_name("")
      ->option_text("DIR|FILE.tar");
  add_muster_namespace(command, flags.cluster);
  command.add_option(
      "--service-account", flags.cluster.service_account,
      "In whose name muster is asked for its metrics, NAME or NAMESPACE/NAME; default: muster-explain of "
      "muster's namespace");
  add_cluster_flags(command, flags.cluster);
  command.footer(
      "Values of environment variables are removed, and Secrets are not read. Names, labels and commands of jobs stay, "
      "and nodes with their addresses: look through it before you share it. Pods of jobs that are admitted and not "
      "ready "
      "are in late-pods.yaml, without environment, commands and volumes.\nExample:\n  kubectl muster sysdump "
      "report.tar");
}

int sysdump_of(kube::KubeApi& api, const SysdumpFlags& flags, ReviewStreams streams) {
  const auto stop = [&](const std::string& why) {
    streams.err << "muster sysdump: " << why << "\n";
    return 1;
  };
  ClusterDump dump;
  if (auto read = read_into(api, sysdump_readings(flags.cluster.muster_namespace), dump); !read)
    return stop(read.error().message);
  Files files;
  add_metrics(api, flags.cluster, dump, files);
  add_logs(api, dump, files);
  add_late_pods(api, dump, files);
  for (auto& file : files_of(dump)) files.push_back(std::move(file));
  files.emplace_back("version.txt", runtime::version_text());
  if (auto written = write(flags.target, files); !written) return stop(written.error().message);
  streams.out << flags.target << ": " << files.size() << " files, " << dump.size() << " objects\n";
  for (const auto& [what, why] : dump.unread()) streams.err << "not read: " << what << ": " << why << "\n";
  return 0;
}

int run_sysdump(const SysdumpFlags& flags, ReviewStreams streams) {
  return with_cluster("sysdump", flags.cluster, streams,
                      [&](kube::KubeApi& api) { return sysdump_of(api, flags, streams); });
}

}  // namespace muster::commands
