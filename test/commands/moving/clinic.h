// An installed muster for the tests of doctor: what is read of it, and what can be made ill.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "api/meta/time.h"
#include "base/encoding.h"
#include "certs/authority.h"
#include "commands/moving/rules/doctor.h"
#include "manifests/catalog.h"

namespace muster::test::clinic {

using namespace muster::commands;
using namespace std::chrono_literals;
using nlohmann::json;

inline const TimePoint kNow = to_time_point(*parse_rfc3339("2026-06-01T12:00:00Z"));

inline json service_to(const std::string& service, const std::string& bundle) {
  return {{"caBundle", base64_encode(bundle)}, {"service", {{"namespace", "muster-system"}, {"name", service}}}};
}

// A cluster in which all is well; rows take something away.
class Clinic {
 public:
  Clinic() {
    const certs::Validity validity{kNow - 1h, kNow + 24h};
    const auto authority = certs::make_authority("muster", validity);
    REQUIRE(authority.ok());
    const auto leaf = certs::make_leaf(*authority, certs::service_names("muster-webhook", "muster-system"), validity);
    REQUIRE(leaf.ok());
    bundle = authority->certificate;
    for (const json& object : manifests::manifests(manifests::ManifestSet::kAll, {})) put(object);
    write_bundle();
    json& deployment = at("Deployment/muster");
    deployment["status"] = {{"replicas", 2}, {"readyReplicas", 2}};
    const json own = {{"app.kubernetes.io/name", "muster"}};
    put({{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata", {{"name", "muster-a"}, {"namespace", "muster-system"}, {"labels", own}}},
         {"spec", {{"containers", {{{"image", "r/muster:0.1.0"}}}}}}});
    runs();
    put({{"apiVersion", "v1"},
         {"kind", "Secret"},
         {"metadata", {{"name", "muster-webhook-cert"}, {"namespace", "muster-system"}, {"labels", own}}},
         {"data", {{"tls.crt", base64_encode(leaf->certificate)}}}});
    for (const char* service : {"muster-webhook", "muster-conversion-service"})
      put({{"apiVersion", "discovery.k8s.io/v1"},
           {"kind", "EndpointSlice"},
           {"metadata",
            {{"name", service}, {"namespace", "muster-system"}, {"labels", {{"kubernetes.io/service-name", service}}}}},
           {"endpoints", {{{"conditions", {{"ready", true}}}}}}});
    put({{"apiVersion", "coordination.k8s.io/v1"},
         {"kind", "Lease"},
         {"metadata", {{"name", "c1f6bfd2.kueue.x-k8s.io"}, {"namespace", "muster-system"}}},
         {"spec",
          {{"holderIdentity", "muster-a_0123456789abcdef0123456789abcdef"},
           {"leaseDurationSeconds", 15},
           {"renewTime", "2026-06-01T11:59:58.000000Z"}}}});
    put({{"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", "ResourceFlavor"}, {"metadata", {{"name", "f"}}}});
    put({{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "ClusterQueue"},
         {"metadata", {{"name", "cq"}}},
         {"spec", {{"resourceGroups", {{{"flavors", {{{"name", "f"}}}}}}}}}});
    put({{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "LocalQueue"},
         {"metadata", {{"name", "lq"}, {"namespace", "a"}}},
         {"spec", {{"clusterQueue", "cq"}}}});
    put({{"apiVersion", "kueue.x-k8s.io/v1beta2"},
         {"kind", "Workload"},
         {"metadata", {{"name", "w"}, {"namespace", "a"}}},
         {"spec", {{"queueName", "lq"}}}});
    facts.now = facts.server_now.emplace(kNow);
    facts.server_minor = 36;
    facts.version = "0.1.0";
  }

  void put(const json& object) {
    objects[object["kind"].get<std::string>() + "/" + object["metadata"]["name"].get<std::string>()] = object;
  }
  json& at(const std::string& key) {
    REQUIRE(objects.contains(key));
    return objects[key];
  }
  void write_bundle() {
    for (auto& [key, object] : objects) {
      if (object["kind"].get<std::string>().ends_with("WebhookConfiguration")) {
        for (json& webhook : object["webhooks"]) webhook["clientConfig"] = service_to("muster-webhook", bundle);
      }
      if (object["kind"] == "CustomResourceDefinition" && object["spec"].contains("conversion"))
        object["spec"]["conversion"]["webhook"]["clientConfig"] = service_to("muster-conversion-service", bundle);
    }
  }
  void is_stuck(const char* key, const char* finalizer) {
    at(key)["metadata"]["deletionTimestamp"] = "2026-06-01T11:00:00Z";
    at(key)["metadata"]["finalizers"] = {finalizer};
  }
  void runs() {
    at("Pod/muster-a")["status"] = {
        {"containerStatuses",
         {{{"name", "muster"}, {"image", "r/muster:0.1.0"}, {"state", {{"running", json::object()}}}}}}};
  }
  void waits(const char* reason, const char* message = "", const char* pod = "Pod/muster-a") {
    at(pod)["status"]["containerStatuses"] = {{{"name", "muster"},
                                               {"image", "r/muster:0.1.0"},
                                               {"state", {{"waiting", {{"reason", reason}, {"message", message}}}}}}};
  }
  void has_no_node(const char* message) {
    at("Pod/muster-a")["status"] = {
        {"phase", "Pending"},
        {"conditions",
         {{{"type", "PodScheduled"}, {"status", "False"}, {"reason", "Unschedulable"}, {"message", message}}}}};
  }
  // As a muster that has never run: no replica answers, writes CA bundles or leads.
  void never_ran() {
    at("Deployment/muster")["status"]["readyReplicas"] = 0;
    for (const char* service : {"muster-webhook", "muster-conversion-service"})
      objects.erase("EndpointSlice/" + std::string(service));
    for (auto& [key, object] : objects) {
      if (!object["kind"].get<std::string>().ends_with("WebhookConfiguration")) continue;
      for (json& webhook : object["webhooks"]) webhook["clientConfig"].erase("caBundle");
    }
    objects.erase("Lease/c1f6bfd2.kueue.x-k8s.io");
  }
  std::vector<Finding> examine() const {
    ClusterDump dump;
    for (const auto& entry : objects) dump.add(entry.second);
    return doctor(dump, facts);
  }

  std::map<std::string, json> objects;
  std::string bundle;
  DoctorFacts facts;
};

}  // namespace muster::test::clinic
