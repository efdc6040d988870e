#include <CLI/CLI.hpp>
#include <map>
#include <ostream>

#include "api/codec/json.h"
#include "commands/moving/moving_commands.h"
#include "commands/moving/read_cluster.h"
#include "commands/moving/rules/doctor.h"
#include "commands/moving/with_cluster.h"
#include "manifests/rbac.h"
#include "manifests/schema.h"
#include "runtime/load_settings.h"
#include "runtime/version.h"

namespace muster::commands {
namespace {

using nlohmann::json;

std::vector<Reading> doctor_readings(const std::string& ns) {
  const kube::Selection own{
      .ns = ns, .label_selector = std::string(manifests::kAppNameLabel) + "=" + std::string(manifests::kAppName)};
  std::vector<Reading> readings = component_readings();
  for (const manifests::DefinedKind& kind : manifests::defined_kinds())
    readings.push_back(
        {kube::resource_of(kCustomResourceDefinitions), named(string_at(*kind.definition, {"metadata", "name"}))});
  readings.push_back({deployments(), named("muster", ns)});
  readings.push_back({kube::resource_of(kPods), own});
  readings.push_back({{"", "v1", "secrets", true, "Secret"}, own});
  readings.push_back({kube::resource_of(kConfigMaps), named("muster-config", ns)});
  readings.push_back({{"discovery.k8s.io", "v1", "endpointslices", true, "EndpointSlice"}, {.ns = ns}});
  for (const ResourceType* type :
       {&kClusterQueues, &kCohorts, &kLocalQueues, &kResourceFlavors, &kAdmissionChecks, &kWorkloads})
    readings.push_back({kube::resource_of(*type)});
  return readings;
}

// One permission to check, from a rule of RBAC.
json question(const std::string& verb, const std::string& group, const std::string& resource, const std::string& name,
              const std::string& ns) {
  json attributes = {{"verb", verb}, {"group", group}, {"resource", resource.substr(0, resource.find('/'))}};
  if (const size_t slash = resource.find('/'); slash != std::string::npos)
    attributes["subresource"] = resource.substr(slash + 1);
  if (!name.empty()) attributes["name"] = name;
  if (!ns.empty()) attributes["namespace"] = ns;
  return attributes;
}

// Everything that muster's own roles give, as questions and in words.
std::map<std::string, json> needed_rights(const ClusterDump& dump, const std::string& ns) {
  const json* map = dump.find("", "ConfigMap", ns, "muster-config");
  auto settings = runtime::settings_of_text(map == nullptr ? "" : string_at(*map, {"data", "config.yaml"}), ns);
  std::map<std::string, json> needed;
  if (!settings) return needed;
  for (const json& role : manifests::rbac_objects(ns, manifests::rights_for(settings->configuration))) {
    const std::string_view name = string_at(role, {"metadata", "name"});
    if (name != manifests::kServiceAccountName && name != manifests::kLeaseRoleName) continue;
    const std::string in(string_at(role, {"metadata", "namespace"}));
    for (const json& rule : array_at(role, {"rules"})) {
      std::vector<std::string> names = strings_at(rule, {"resourceNames"});
      if (names.empty()) names.emplace_back();
      for (const std::string& verb : strings_at(rule, {"verbs"})) {
        for (const std::string& group : strings_at(rule, {"apiGroups"})) {
          for (const std::string& resource : strings_at(rule, {"resources"})) {
            for (const std::string& each : names)
              needed[verb + " " + resource + (group.empty() ? "" : "." + group) + (each.empty() ? "" : " " + each)] =
                  question(verb, group, resource, each, in);
          }
        }
      }
    }
  }
  return needed;
}

// The missing permissions of muster's service account. Permissions that cannot be checked are reported as not
// read.
std::vector<std::string> lacking_rights(kube::KubeApi& api, const std::string& ns, ClusterDump& dump) {
  const json* deployment = dump.find("apps", "Deployment", ns, "muster");
  if (deployment == nullptr) return {};
  std::string account(string_at(*deployment, {"spec", "template", "spec", "serviceAccountName"}));
  if (account.empty()) account = manifests::kServiceAccountName;
  std::vector<std::string> lacking;
  for (const auto& [words, attributes] : needed_rights(dump, ns)) {
    const json review = {
        {"apiVersion", "authorization.k8s.io/v1"},
        {"kind", "SubjectAccessReview"},
        {"spec",
         {{"user", "system:serviceaccount:" + ns + ":" + account},
          {"groups", {"system:serviceaccounts", "system:serviceaccounts:" + ns, "system:authenticated"}},
          {"resourceAttributes", attributes}}}};
    const auto answer =
        api.create({"authorization.k8s.io", "v1", "subjectaccessreviews", false, "SubjectAccessReview"}, "", review);
    if (!answer) {
      dump.add_unread("rights of muster's service account", answer.error().message);
      return lacking;
    }
    if (!bool_at(*answer, {"status", "allowed"})) lacking.push_back(words);
  }
  return lacking;
}

}  // namespace

void add_doctor(CLI::App& app, DoctorFlags& flags) {
  CLI::App& command = *app.add_subcommand("doctor", "List problems of muster in this cluster; changes nothing");
  add_finding_format(command, flags.format);
  add_muster_namespace(command, flags.cluster);
  add_cluster_flags(command, flags.cluster);
  command.footer(
      "Exit code 0: nothing is to be done; 1: there is. A cause is one entry: the command that helps, and what follows "
      "from it.\n"
      "Examples:\n  kubectl muster doctor\n  kubectl muster doctor -o json");
}

Result<std::vector<Finding>> examine(kube::KubeApi& api, const std::string& muster_namespace, const Clock& clock) {
  ClusterDump dump;
  if (auto read = read_into(api, doctor_readings(muster_namespace), dump); !read) return fail(read.error().message);
  DoctorFacts facts{.muster_namespace = muster_namespace, .version = std::string(runtime::kVersion)};
  facts.lacks = lacking_rights(api, muster_namespace, dump);
  facts.server_minor = server_minor(api);
  facts.server_now = server_time(api);
  facts.now = clock.now().wall;
  return doctor(dump, facts);
}

int doctor_of(kube::KubeApi& api, const DoctorFlags& flags, const Clock& clock, ReviewStreams streams) {
  const auto findings = examine(api, flags.cluster.muster_namespace, clock);
  if (!findings) {
    streams.err << "muster doctor: " << findings.error().message << "\n";
    return 1;
  }
  streams.out << print_findings(*findings, flags.format, "Nothing is wrong with muster in this cluster.");
  return needs_action(*findings) ? 1 : 0;
}

int run_doctor(const DoctorFlags& flags, ReviewStreams streams) {
  return with_cluster("doctor", flags.cluster, streams,
                      [&](kube::KubeApi& api) { return doctor_of(api, flags, system_clock(), streams); });
}

}  // namespace muster::commands
